"""A virtual environment with what the packages import, and the sources of the packages as checkouts."""

import subprocess
import sys
import tarfile
from pathlib import Path

from tests.packages.commands.table import Package
from tests.packages.install import NotInstalled

NEEDS = Path(__file__).with_name("requirements.txt")


def environment(folder: Path) -> Path:
    """Return the Python of an environment in `folder` with the pinned requirements, which is made if it is missing."""
    python, stamp = folder / "bin" / "python", folder / "requirements.txt"
    if not stamp.is_file() or stamp.read_text() != NEEDS.read_text():
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        # Packages pin versions of jax that exclude each other, and torch, which none of the commands imports.
        _run([*_pip(python), "install", "--no-deps", "--requirement", str(NEEDS)])
        stamp.write_text(NEEDS.read_text())
    return python


def sources(package: Package, folder: Path, python: Path) -> Path:
    """Return the unpacked sources of a package below `folder`, downloaded if they are missing. Raises NotInstalled."""
    target = folder / package.folder
    if target.is_dir():
        return target
    if package.url is not None:
        _run(["git", "clone", "--quiet", package.url, str(target)])
        _run(["git", "-C", str(target), "checkout", "--quiet", package.version])
        return target
    archives = folder / "archives"
    wanted = ["--no-deps", "--no-build-isolation", "--no-binary", package.name, f"{package.name}=={package.version}"]
    _run([*_pip(python), "download", "--dest", str(archives), *wanted])
    (archive,) = archives.glob(f"{package.name.replace('-', '[-_]')}-{package.version}.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "unpacked", filter="data")
        (folder / "unpacked" / opened.getnames()[0].split("/")[0]).rename(target)
    return target


def _pip(python: Path) -> list[str]:
    return [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise NotInstalled(f"{' '.join(command[:4])} failed: {said[-1]}")
