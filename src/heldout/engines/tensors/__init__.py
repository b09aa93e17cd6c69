"""Counting tensors where they are: torch operations on any device, kernels where they pay, and evidence that travels."""
