"""The card of a model: how interpretable, explainable and useful it is, in a form that can be compared."""
