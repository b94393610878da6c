"""Cache results by their inputs, so that an unchanged model is not verified again.

A result depends on: the bytes of every file of the user's that either version imported, including the case file; files
that were looked for in vain; the import directories of each version; the options; the versions of Python and of every
installed package; scanify's own source; the environment variables that jax, XLA and equinox read; the kind of machine;
and what the code consults besides (`scanify.verify.cache.consulted`): files that it opens, variables that it reads, the
libraries that it imports. Inputs known only after a run are in the entry and checked when it is read; all others are in
its name. Reads by a library outside of Python are not detected.

Only good results are kept: failures are run again.
"""

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scanify.cache_folder import cache_folder, write_entry
from scanify.verify.children.codec import from_json, to_json
from scanify.verify.measure.pace import UNTIMED_AGAIN, Pace
from scanify.verify.request import Request, Response
from scanify.verify.verdict import CaseResult
from scanify.verify.versions.loaded import Version, digest
from scanify.verify.versions.versions import overlay_of

FORMAT = 4
_VARIABLES = ("JAX", "XLA", "EQX", "EQUINOX", "CUDA", "NVIDIA", "ROCR", "HIP", "TPU", "LIBTPU", "PYTHON", "TF_", "NCCL")
_ENTRIES = 256
# NVIDIA's, AMD's and Google's.
_DEVICES = ("nvidia[0-9]*", "kfd", "dri/renderD*", "accel*", "vfio/[0-9]*")


@dataclass(frozen=True)
class Cache:
    """The entries in `folder`, one file for each."""

    folder: Path

    @classmethod
    def of(cls, root: Path) -> "Cache | None":
        """Return the cache of the project at `root`: $SCANIFY_CACHE_DIR, or a folder of the project that git ignores.

        None if $CI is set and $SCANIFY_CACHE_DIR is not, since a change to be verified could include its own entries.
        """
        folder = cache_folder(root)
        return cls(folder) if folder is not None else None

    def lookup(self, request: Request) -> tuple[CaseResult, ...] | None:
        """Return the results of an earlier run of `request` on the same inputs, marked as `cached`; None without one.

        A broken entry, or one for something else, does not count.
        """
        key = _key(request)
        try:
            entry = json.loads(self._file(key).read_bytes())
            response = from_json(Response, entry["response"])
            if entry["key"] != key or not response.results or not _unchanged(request, response):
                return None
        except (OSError, ValueError, TypeError, KeyError):
            return None
        if not all(result.good for result in response.results):
            return None
        return tuple(replace(result, cached=True) for result in response.results)

    def keep(self, request: Request, response: Response, results: Sequence[CaseResult]) -> None:
        """Store `results`, from `response` with additions of the parent, if all are good."""
        if not results or not response.consulted.known or not all(result.good for result in results):
            return
        key = _key(request)
        entry = {"key": key, "response": to_json(replace(response, results=tuple(map(_untimed, results))))}
        write_entry(self.folder, self.folder, self._file(key).name, json.dumps(entry), _ENTRIES)

    def _file(self, key: dict[str, Any]) -> Path:
        return self.folder / f"{digest(json.dumps(key, sort_keys=True).encode())}.json"


def _untimed(result: CaseResult) -> CaseResult:
    """Return the result without this run's timings: cached results are the same on every machine."""
    if result.pace is None:
        return result
    return replace(result, pace=Pace(result.pace.what, untimed=result.pace.untimed or UNTIMED_AGAIN))


def _key(request: Request) -> dict[str, Any]:
    """Return the inputs of a result that are known before the run, as JSON."""
    overlay = overlay_of(request)
    places = (overlay.original.search, overlay.rewritten.search, overlay.project.roots, overlay.project.fallback)
    key = {
        "format": FORMAT,
        "request": to_json(replace(request, changes=())),
        "places": [[str(place) for place in some] for some in places],
        "environment": _environment(),
        "packages": _packages(),
        "scanify": _own_source(),
        "python": [sys.version, sys.executable],
        "machine": [platform.system(), platform.machine(), *accelerators()],
    }
    found: dict[str, Any] = json.loads(json.dumps(key))
    return found


def _unchanged(request: Request, response: Response) -> bool:
    """True if both versions would import the same bytes from the same files again, and consult the same."""
    overlay = overlay_of(request)
    if not response.consulted.holds():
        return False
    both = ((overlay.original, response.original), (overlay.rewritten, response.rewritten))
    return all(
        all(_holds(version, path) == known for path, known in read.files)
        and not any(version.is_file(path) for path in read.missed)
        for version, read in both
    )


def _holds(version: Version, path: str) -> str | None:
    """Return the SHA-256 of the file at `path` in `version`; None if it does not exist."""
    if not version.is_file(path):
        return None
    text = version.text(path)
    return digest(Path(path).read_bytes() if text is None else text)


def _environment() -> dict[str, str]:
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(_VARIABLES)}


def accelerators() -> list[str]:
    """Return the devices that jax would compute on, by the files of their drivers: a program may list them.

    A home folder, and with it this cache, may be shared by machines with and without devices.
    """
    return sorted(str(path) for pattern in _DEVICES for path in Path("/dev").glob(pattern))


def _packages() -> list[list[str]]:
    return [list(each) for each in sorted({_name_and_version(each) for each in importlib.metadata.distributions()})]


def _name_and_version(package: importlib.metadata.Distribution) -> tuple[str, str]:
    """Return name and version from these lines of the metadata, as parsing all of it took most of a look-up."""
    files = (package.read_text(name) for name in ("METADATA", "PKG-INFO", ""))
    found: dict[str, str] = {}
    for line in next(filter(None, files), "").splitlines():
        name, _, value = line.partition(":")
        found.setdefault(name, value.strip())
        if found.keys() >= {"Name", "Version"}:
            break
    return found.get("Name", ""), found.get("Version", "")


@functools.cache
def _own_source() -> str:
    """Return the SHA-256 of the parts of scanify that take part in a run: a checkout changes without its version."""
    folder = Path(__file__).resolve().parents[2]
    whole = hashlib.sha256()
    for file in sorted(file for part in ("jaxpr", "nn", "rolling", "verify") for file in (folder / part).rglob("*.py")):
        whole.update(f"{file.relative_to(folder)}\0{digest(file.read_bytes())}\0".encode())
    return whole.hexdigest()
