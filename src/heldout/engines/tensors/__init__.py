"""Counting tensors where they are: torch operations on any device, kernels where they pay; evidence travels."""
