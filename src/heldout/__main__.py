"""The command line as `python -m heldout`."""

import os
import sys

# `python -m` puts the current folder first on the path, where any file may stand in for a library; see `python -P`.
if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - before anything is imported
    del sys.path[0]

from heldout.cli.start import main

if __name__ == "__main__":
    main()
