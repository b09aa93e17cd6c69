"""What a reader sees: blocks, and the forms they are rendered in."""
