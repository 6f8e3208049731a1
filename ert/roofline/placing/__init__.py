"""Kernels under the roofs: what bounds each, and what would help."""
