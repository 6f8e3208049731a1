"""From measurements to roofs."""
