"""Answers as data, and the questions that they can be asked; `report` says how they read, `findings` reviews them."""
