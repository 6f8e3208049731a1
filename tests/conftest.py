"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# On a busy machine any example can take long: no test may fail for the time that it took.
settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")
