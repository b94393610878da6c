"""Detect a case that takes its model from another module than its argument, and so compares a version with itself."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Any

from scanify.verify.versions.loaded import Version


def taken_elsewhere(
    version: Version, module: ModuleType, own: Path, other: Path, case: Path, loaded: frozenset[str], model: Any
) -> str | None:
    """Describe how the case takes something from the file `other` if its argument is the module of the file `own`.

    `loaded` are the files that importing `own` has loaded, `model` is the result of the case. None if the file is not
    used, or if only the module itself uses it.
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
    """True if the case file imported it, and not the module that is its argument."""
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
