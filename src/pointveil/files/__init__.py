"""The bottom layer: whole files, exact numbers, the public lattice, CRS names, GDAL; no real record is kept here."""
