"""Learners: from a name or an object to something that can be fitted, and data made fit for it."""
