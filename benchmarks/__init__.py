"""How fast and how small heldout is, beside its peers; `make bench` runs it."""
