"""Planning a test set: how wide an interval, or how likely a decision, so many cases come to."""
