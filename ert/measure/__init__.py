"""Who and where we are, which cases to measure, and how often."""
