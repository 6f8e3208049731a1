"""Empirical roofline tool for CPUs: measures compute and bandwidth roofs and says what limits a kernel."""
