"""The model: types, formulas, and the way from measurements to roofs. Pure: no files, no clock, no printing."""
