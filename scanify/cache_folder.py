"""The cache of results between runs."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

FOLDER = ".scanify_cache"


def cache_folder(root: Path) -> Path | None:
    """Return the cache of the project at `root`: $SCANIFY_CACHE_DIR, or a folder of the project that git ignores.

    None if $CI is set and $SCANIFY_CACHE_DIR is not, since a change under review could bring its own cache entries.
    """
    named = os.environ.get("SCANIFY_CACHE_DIR")
    if named:
        return Path(named).absolute()
    return None if os.environ.get("CI") else root / FOLDER


def write_entry(folder: Path, top: Path, name: str, text: str, most: int) -> None:
    """Write one entry atomically, and delete the oldest ones beyond `most`. `top` gets a `.gitignore`."""
    with suppress(OSError):  # The cache is optional, so errors are ignored.
        folder.mkdir(parents=True, exist_ok=True)
        ignore = top / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(folder / name)
        for entry in sorted(folder.glob("*.json"), key=lambda each: each.stat().st_mtime)[:-most]:
            entry.unlink()
