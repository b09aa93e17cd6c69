"""Gates: requirements on a classifier, findings that are forbidden, and whether it may pass."""
