"""The command line as `python -m heldout`."""

from heldout.cli.start import main

if __name__ == "__main__":
    main()
