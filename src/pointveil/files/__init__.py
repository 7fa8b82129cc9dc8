"""The bottom layer: whole files, exact numbers, lattice, CRS, GDAL; never handed a record on the way to a release."""
