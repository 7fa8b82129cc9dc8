"""Whole files, the public lattice and the names of coordinate systems; no record is looked at here."""
