"""Measures: pure formulas over counts, declared once, and the catalogue that lists them."""
