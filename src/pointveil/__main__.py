"""The command line, as `python -m pointveil`."""

from pointveil.cli import main

main()
