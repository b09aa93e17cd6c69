"""Resampling: a learner fitted once for every split, and what that tells of its true error."""
