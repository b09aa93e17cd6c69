"""Comparisons: is one classifier better than another, by how much, and may we say so."""
