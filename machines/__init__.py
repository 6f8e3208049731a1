"""Machine sheets: package data, read by :mod:`ert.records.machines`."""
