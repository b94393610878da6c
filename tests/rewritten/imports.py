"""Whether rewritten files parse, and whether modules that could be imported still can be."""

import os
import subprocess
from pathlib import Path

from tests.rewritten.folders import ROOT, Folders
from tests.rewritten.packages import Package

_SECONDS = 300


def unparsed(found: Folders) -> list[str]:
    """The changed files that this Python cannot compile, with the reason."""
    wrong = []
    for each in found.changed:
        try:
            compile((found.rewritten / each).read_bytes(), str(each), "exec")
        except SyntaxError as error:
            wrong.append(f"{each}: {error}")
    return wrong


def imported(package: Package, python: Path, folder: Path, changed: tuple[Path, ...]) -> dict[str, str]:
    """For each changed module of the package: "" where it can be imported from `folder`, else the error's last line."""
    found = {}
    for each in changed:
        root = Path(package.root)
        if root != Path() and root not in each.parents:
            continue
        name = ".".join(each.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        done = subprocess.run(
            [str(python), "-c", f"import {name}"],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env=path_to(package, folder),
            timeout=_SECONDS,
        )
        found[name] = (done.stderr.strip().splitlines() or ["no message"])[-1] if done.returncode else ""
    return found


def path_to(package: Package, folder: Path) -> dict[str, str]:
    """The environment variables under which Python finds the package in `folder`, and scanify."""
    places = [str(folder / package.root), str(ROOT)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places), "JAX_PLATFORMS": "cpu", "MPLBACKEND": "Agg"}
