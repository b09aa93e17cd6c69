"""The tests; a package, so that `python -m tests.promises` finds this folder and no other of that name."""
