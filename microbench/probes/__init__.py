"""Probes of the roofs: each turns parameters into a loop, what fills its memory, and the oracle of its results."""
