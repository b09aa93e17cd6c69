"""The command line: the same front doors from a shell."""
