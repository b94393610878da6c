"""Choose the form of the target for a release of haliax or levanter: the named one, or else the installed one.

The releases were opened and imported one by one: haliax 1.3 has no `fold_via` and does not import on jax 0.10;
marin-haliax 0.2.225 dropped `ArrayStacked`, which marin-levanter has since 0.2.225.
"""

import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from scanify.emit.targets.arrays import HALIAX, LEVANTER
from scanify.errors import ScanifyError

STACKED = "haliax"
_NAMES = ("marin-levanter", "marin-haliax", "haliax")
_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_OWN = re.compile(
    r"^[ \t]*(?:import[ \t]+haliax\b|from[ \t]+haliax\b"
    r"(?![ \t]+import[ \t]+ScanCheckpointPolicy[ \t]*$|\.nn[ \t]+import[ \t]+ArrayStacked[ \t]*$))",
    re.MULTILINE,
)
_MOVED = (0, 2, 225)  # to levanter
_FIRST_FOLD_VIA = (1, 4, 0)
_EXAMPLE = "marin-haliax==0.2.224"


def form_of(target: str, target_version: str | None, *, own: bool) -> str:
    """Return the emitter for a target, by its name among `TARGETS`.

    `target_version` is a requirement, `marin-haliax==0.2.224`; by default, the installed release decides. Code that
    uses haliax already (`own`) may have modules with named axes, which only `Stacked` takes, so it gets that unless a
    release is named. Raises ScanifyError for an unknown release, or if the target has only one form.
    """
    if target != STACKED:
        if target_version is not None:
            raise ScanifyError(f"a target version is for the target haliax, got {target_version} for {target}")
        return target
    if target_version is not None:
        return _form(_parsed(target_version))
    return STACKED if own else _form(_installed())


def knows_haliax(text: str) -> bool:
    """True if a file imports more of haliax than this target writes into files."""
    return _OWN.search(text) is not None


def _parsed(requirement: str) -> dict[str, str]:
    name, equal, number = (part.strip() for part in requirement.partition("=="))
    if not equal or name not in _NAMES or _RELEASE.match(number) is None:
        names = ", ".join(_NAMES)
        raise ScanifyError(f"expected a release of {names} as the target version, as in {_EXAMPLE}, got {requirement}")
    return {name: number}


def _installed() -> dict[str, str]:
    found = {}
    for name in _NAMES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _form(releases: Mapping[str, str]) -> str:
    """Return the form for these releases; the array form has priority."""
    known = {name: parts for name, number in releases.items() if (parts := _parts(number)) is not None}
    if "marin-levanter" in known:  # it requires the haliax of the same number
        return LEVANTER if known["marin-levanter"] >= _MOVED else HALIAX
    if "marin-haliax" in known:
        return STACKED if known["marin-haliax"] >= _MOVED else HALIAX
    if known.get("haliax", _FIRST_FOLD_VIA) < _FIRST_FOLD_VIA:
        raise ScanifyError(
            f"haliax {releases['haliax']} has no `Stacked.fold_via`, which the target haliax writes: it is there from "
            "haliax 1.4 and marin-haliax 0.2 on"
        )
    return STACKED


def _parts(number: str) -> tuple[int, ...] | None:
    found = _RELEASE.match(number)
    return tuple(int(part or 0) for part in found.groups()) if found is not None else None
