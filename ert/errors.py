"""Errors that are the caller's to mend; their text is a sentence for a user."""


class InputError(ValueError):
    """An option, a file or a folder is not usable. Commands print it and exit with 2."""
