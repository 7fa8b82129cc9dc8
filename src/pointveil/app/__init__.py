"""A page on the owner's own machine: passes the owner's maps on to their browser, and reads no record itself."""
