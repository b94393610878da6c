"""Where results are kept between runs."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

FOLDER = ".scanify_cache"


def cache_folder(root: Path) -> Path | None:
    """The cache of the project at `root`: $SCANIFY_CACHE_DIR, or a folder of the project that git ignores.

    None where $CI is set and $SCANIFY_CACHE_DIR is not: a change that is to be checked could bring its own entries
    along.
    """
    named = os.environ.get("SCANIFY_CACHE_DIR")
    if named:
        return Path(named).absolute()
    return None if os.environ.get("CI") else root / FOLDER


def write_entry(folder: Path, top: Path, name: str, text: str, most: int) -> None:
    """Write one entry, whole or not at all, and forget the oldest beyond `most`. `top` gets a `.gitignore`."""
    with suppress(OSError):  # A cache that cannot be written is none; the result is there all the same.
        folder.mkdir(parents=True, exist_ok=True)
        ignore = top / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(folder / name)
        for entry in sorted(folder.glob("*.json"), key=lambda each: each.stat().st_mtime)[:-most]:
            entry.unlink()
