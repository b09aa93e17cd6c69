"""The stream engine: files read in batches, which are counted and let go."""
