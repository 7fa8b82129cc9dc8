"""A page on the owner's own machine, from a file to a release: passes maps on to the owner, and reads no record itself."""
