"""Where application kernels lie under the roofs: attainable performance, bound, efficiency, and what to do about it."""

from __future__ import annotations

from ert.roofline.placement import Bound, Placement

__all__ = ["Bound", "Placement"]
