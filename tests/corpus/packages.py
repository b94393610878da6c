"""Packages of the index as folders of source, downloaded once."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path


def source_folder(package: str, version: str, cache: Path) -> Path:
    """The unpacked wheel (or source distribution) of a package; downloaded by pip where the cache lacks it.

    Raises RuntimeError with pip's own words where it cannot be had.
    """
    folder = cache / f"{package}-{version}"
    if folder.is_dir():
        return folder
    archives = cache / "archives" / folder.name
    archives.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--ignore-requires-python", "--dest", str(archives), f"{package}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(archives.iterdir())
    if done.returncode or not found:
        raise RuntimeError(f"{package} {version} cannot be downloaded: {done.stderr.strip() or 'pip gave nothing'}")
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    unpack(found[0], partial)
    (partial / "pyproject.toml").touch()  # a wheel has none, and is a project of its own wherever it is unpacked
    partial.rename(folder)
    return folder


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a wheel, or a source distribution without its one outer folder."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(folder)
        return
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    (top,) = folder.iterdir()  # a source distribution has one folder, and the labels' paths begin below it
    for entry in list(top.iterdir()):
        entry.rename(folder / entry.name)
