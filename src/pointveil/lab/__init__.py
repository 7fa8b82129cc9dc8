"""For reviewers and researchers: audits, published methods and experiments, on invented or the owner's own records."""
