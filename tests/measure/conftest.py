"""What tests of measuring share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ert.roofline.model import Host
from tests.recordings import recorded_host


@pytest.fixture
def recorded() -> Callable[[str], Host]:
    """Give a function from the name of a recording to its host."""
    return recorded_host
