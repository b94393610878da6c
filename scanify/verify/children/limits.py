"""Limits on the run time and memory of a case."""

import re
from dataclasses import dataclass

from scanify.errors import ScanifyError

_UNITS = {"": 1, "B": 1} | {
    f"{prefix}{tail}": 1024**power if tail == "iB" else 1000**power
    for power, prefix in enumerate("KMGT", start=1)
    for tail in ("iB", "B")
}


@dataclass(frozen=True)
class Limits:
    """Wall-clock seconds for one case, and bytes of resident memory of its process and all processes it starts."""

    seconds: float = 600.0
    memory: int = 8 * 1024**3


def parse_memory(text: str) -> int:
    """Return the bytes for `8GiB`, `500 MB` or `1073741824`. Raises ScanifyError for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    units = {name.lower(): size for name, size in _UNITS.items()}
    if match is None or match[2].lower() not in units or float(match[1]) == 0:
        raise ScanifyError(f"a memory limit is a number with a unit, such as 8GiB or 500MB; got {text!r}")
    return int(float(match[1]) * units[match[2].lower()])


def human_bytes(count: int) -> str:
    """Return `count` in binary units with three digits: `512 B`, `36.8 MiB`, `1.75 GiB`."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} TiB" if size < 1000 else f"{size:.0f} TiB"
