"""The command line, as `python -m pointveil`."""

from pointveil.cli import main

if __name__ == "__main__":  # what inspects the package imports it, with arguments of its own
    main()
