"""Names a machine for files and folders, by its CPU model and usable cores, never by its host name."""

from __future__ import annotations

import re
import unicodedata

from ert.measure.capacity import physical_cores
from ert.measure.cpuinfo import arm_name
from ert.roofline.model import Host

SLUG_LENGTH = 60
"""Longest model part of a slug, in characters; result folders stay far below the 255 bytes that file systems allow."""

ARM_IMPLEMENTER = 0x41
"""Implementer code of Arm Ltd., whose cores are named without their vendor."""

_NOISE = re.compile(
    r"\((?:r|tm|c)\)|®|™|©|@.*$|\b\d+(?:\.\d+)?\s*[gm]hz\b|\b\d+th gen\b|\b(?:cpu|processor)\b"
    r"|\b(?:\d+|single|dual|triple|quad|six|eight|twelve|sixteen)[- ]core\b|\bwith radeon\b.*$|, altivec.*$"
    r"|\(architected\)|\(raw\)",
    re.IGNORECASE,
)
"""What vendors write into a model name that does not tell models apart."""


def machine_slug(host: Host) -> str:
    """Name for files: CPU model and number of usable cores, as in ``"intel-xeon-gold-6148-40c"``.

    ASCII letters, digits and hyphens only. Where the model is hidden, the name or number of the Arm part stands
    for it, else architecture, vendor and identity.
    """
    identity = dict(host.identity)
    model = _slug(host.cpu_model)
    if not model and "part" in identity:
        model = _slug(arm_name(identity["implementer"], identity["part"]))
    if not model:
        numbers = (f"{name} {number}" for name, number in host.identity)
        model = _slug(" ".join([host.machine, host.vendor, *numbers])) or "unknown"
    if identity.get("implementer") == ARM_IMPLEMENTER and not model.startswith("arm"):
        model = f"arm-{model}"
    return f"{model[:SLUG_LENGTH].rstrip('-')}-{len(physical_cores(host))}c"


def _slug(text: str) -> str:
    """Lower-case ASCII words joined by hyphens; accents are dropped, other letters left out."""
    plain = unicodedata.normalize("NFKD", _NOISE.sub(" ", text)).encode("ascii", "ignore").decode("ascii").lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain))
