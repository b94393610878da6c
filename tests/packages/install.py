"""Puts a package and what it needs into a folder of its own, and nothing into the running environment."""

import subprocess
import sys
from pathlib import Path

from tests.packages.models import Model

STAMP = "installed"


class NotInstalled(Exception):
    """Why a package is not there, for a reader of the table."""


def source(model: Model, root: Path) -> Path:
    """Where the package's own files are: they count as somebody's source, as no installed package is rewritten."""
    return root / model.requirement / "source"


def needed(model: Model, root: Path) -> Path:
    """Where what it needs is: a folder of that name holds installed packages, which are left as they are."""
    return root / model.requirement / "site-packages"


def install(model: Model, root: Path) -> None:
    """Install `model`'s package below `root`, unless it is there. Raises NotInstalled where that cannot be done."""
    if sys.version_info < model.python:
        raise NotInstalled(f"needs Python {'.'.join(map(str, model.python))}")
    stamp = root / model.requirement / STAMP
    wanted = "\n".join((model.requirement, *model.needs))
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    _pip(source(model, root), (model.requirement,))
    if model.needs:
        _pip(needed(model, root), model.needs)
    stamp.write_text(wanted)


def _pip(folder: Path, requirements: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    command += ["--no-deps", "--no-compile", "--target", str(folder), *requirements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise NotInstalled(f"pip could not install {' '.join(requirements)}: {said[-1]}")
