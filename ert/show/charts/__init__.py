"""Charts: the only part that draws."""
