"""A page on the owner's own machine: the whole way from a file to a release, in a browser."""
