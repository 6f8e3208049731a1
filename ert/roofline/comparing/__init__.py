"""Machines side by side, and what a workload would reach on each."""
