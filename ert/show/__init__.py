"""What a person sees: units, tables, progress, figures."""
