"""A package's source twice: as it was published, and rewritten by `scanify rewrite`."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.packages import unpack
from tests.rewritten.packages import Package

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Folders:
    """Both versions of a package, the files that differ (relative), and what the command said last."""

    original: Path
    rewritten: Path
    changed: tuple[Path, ...]
    said: str


def folders(package: Package, out: Path) -> Folders:
    """Download where needed, and rewrite anew. Raises RuntimeError where the package cannot be had or rewritten."""
    original, rewritten = out / "original", out / "rewritten"
    if not original.is_dir():
        _download(package, original)
    shutil.rmtree(rewritten, ignore_errors=True)
    shutil.copytree(original, rewritten)
    # Unsafe fixes too: what they leave open is what is tested here.
    command = [sys.executable, "-m", "scanify", "rewrite", "--unsafe", "."]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=rewritten, capture_output=True, text=True, check=False, env=env)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"scanify rewrite failed with exit {done.returncode}: {done.stderr[-2000:]}")
    files = sorted(path.relative_to(rewritten) for path in rewritten.rglob("*.py"))
    changed = tuple(each for each in files if (rewritten / each).read_bytes() != (original / each).read_bytes())
    said = done.stderr.strip().splitlines() or ["nothing"]
    return Folders(original, rewritten, changed, said[-1])


def _download(package: Package, folder: Path) -> None:
    archives = folder.parent / "archives"
    shutil.rmtree(archives, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary" if package.sdist else "--only-binary", ":all:", "--ignore-requires-python"]
    command += ["--dest", str(archives), package.requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(archives.glob("*")) if archives.is_dir() else []
    if done.returncode or not found:
        raise RuntimeError(f"cannot be downloaded: {done.stderr.strip() or 'pip gave nothing'}")
    partial = folder.with_name("original.partial")
    shutil.rmtree(partial, ignore_errors=True)
    unpack(found[0], partial)
    partial.rename(folder)
