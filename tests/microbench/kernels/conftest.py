"""One workbench for all tests of kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.microbench.kernels.workbench import Workbench


@pytest.fixture(scope="session")
def workbench() -> Iterator[Workbench]:
    bench = Workbench()
    yield bench
    bench.close()
