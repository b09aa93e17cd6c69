"""Predictions: which column is the truth, the prediction, the weight and the group, in one checked object."""
