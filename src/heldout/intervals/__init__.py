"""Estimates of measures and the intervals around them."""
