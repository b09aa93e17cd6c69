"""The front doors: one function for each question a person asks."""
