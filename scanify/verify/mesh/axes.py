"""The axes of a mesh of devices, in the form of `--mesh`: `2x4`, or `batch=2,tensor=4`."""

import math
import re

from scanify.errors import ScanifyError

Axes = tuple[tuple[str, int], ...]

# The names of the axes if only their sizes are given.
NAMES = ("data", "model")
_NAMED = re.compile(r"([A-Za-z_]\w*)=([1-9]\d*)")
# Virtual devices are threads of one process.
_MOST = 512


def parse_mesh(text: str) -> Axes:
    """Parse the axes `2x4` (data and model), `8` (data) or `batch=2,tensor=4`.

    Raises ScanifyError for anything else, and for more devices than one process can simulate.
    """
    plain = text.replace(" ", "")
    if re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", plain):
        sizes = [int(size) for size in plain.split("x")]
        if len(sizes) > len(NAMES):
            example = ",".join(f"{name}={size}" for name, size in zip("abcdefgh", sizes, strict=False))
            raise ScanifyError(f"a mesh of {len(sizes)} axes needs their names, as in --mesh {example}; got {text!r}")
        found: Axes = tuple(zip(NAMES, sizes, strict=False))
    else:
        parts = [_NAMED.fullmatch(part) for part in plain.split(",")]
        if None in parts:
            raise ScanifyError(f"a mesh is sizes, as 2x4, or named axes, as batch=2,tensor=4; got {text!r}")
        found = tuple((part[1], int(part[2])) for part in parts if part is not None)
    if len({name for name, _ in found}) < len(found):
        raise ScanifyError(f"expected every axis of the mesh to have a name of its own; got {text!r}")
    if device_count(found) > _MOST:
        raise ScanifyError(f"a mesh of {device_count(found):,} devices cannot be stood for; expected at most {_MOST}")
    return found


def device_count(axes: Axes) -> int:
    return math.prod(size for _, size in axes)
