"""The libraries that commands need at run time: each must be installed, and be no older than scanify knows it."""

import importlib.metadata
import importlib.util
import sys
from collections.abc import Sequence

from scanify.errors import ScanifyError

_OLDEST = {"jax": "0.10", "equinox": "0.13"}


def require(purpose: str, names: Sequence[str] = ("jax", "equinox")) -> None:
    """Raise ScanifyError, which begins with `purpose`, if a library is missing or too old."""
    wanted = " and ".join(names)
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    old = [f"{name} {_version(name)}" for name in names if name not in missing and _is_old(name)]
    if missing:
        found = f"needs {wanted}; {' and '.join(missing)} not found by {sys.executable}"
    elif old:
        oldest = " and ".join(f"{name} {_OLDEST[name]}" for name in names if name in _OLDEST)
        found = f"needs {oldest} or newer; {sys.executable} has {' and '.join(old)}"
    else:
        return
    upgrade = "" if missing else "--upgrade "
    raise ScanifyError(f'{purpose} {found}. Install them with: pip install {upgrade}"scanify-jax[jax]"')


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""  # a source tree on the path


def _is_old(name: str) -> bool:
    found, oldest = _version(name), _OLDEST.get(name)
    return bool(found and oldest) and _numbers(found) < _numbers(oldest or "")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:2])
