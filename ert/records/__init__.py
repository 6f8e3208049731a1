"""Results and reports as files."""
