"""Does a case take its model from elsewhere than the module it is given? Then a version is compared with itself."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Any

from scanify.verify.versions.loaded import Version


def taken_elsewhere(
    version: Version, module: ModuleType, own: Path, other: Path, case: Path, loaded: frozenset[str], model: Any
) -> str | None:
    """How the case takes something from the file `other` where it is given `module`, that of the file `own`.

    `loaded` are the files that importing `own` has loaded, `model` is what the case returned. None where the file is
    not used, or where it is the module's own business.
    """
    if os.path.realpath(own) == os.path.realpath(other):
        return None
    file = next((path for path in version.read if os.path.realpath(path) == os.path.realpath(other)), None)
    if file is None:
        return None
    if file not in loaded and _comes_from(version, file, case, own):
        return f"imports {other.name} itself"
    holder = next((each for each in version.modules.values() if vars(each).get("__file__") == file), None)
    held = list(vars(module).values())
    kind = type(model)
    if holder is None or kind.__module__ != holder.__name__ or any(each is kind or each is holder for each in held):
        return None
    return f"takes {kind.__qualname__} from {other.name}"


def _comes_from(version: Version, file: str, case: Path, own: Path) -> bool:
    """Whether the case file is what had it imported, and not the module that it is given."""
    seen: set[str] = set()
    importer = version.importers.get(file, "")
    while importer and importer not in seen:
        if os.path.realpath(importer) == os.path.realpath(own):
            return False
        if os.path.realpath(importer) == os.path.realpath(case):
            return True
        seen.add(importer)
        importer = version.importers.get(importer, "")
    return False
