"""Store the originals of rewritten files in the project's cache, so that `unroll` restores them byte for byte.

A rewrite loses details for which a scan has no place: the name of a loop's variable, `zip(..., strict=True)`, the
layout of a list. They do not belong in the user's code, so they are kept in the cache, which git ignores. Without them,
the loops are derived from the source.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

from scanify.cache_folder import cache_folder, write_entry

FOLDER = "rewrites"
FORMAT = 1
_ENTRIES = 256


@dataclass(frozen=True)
class Rewrite:
    """One rewrite: the texts of each file before and after, and its options."""

    before: Mapping[Path, str]
    after: Mapping[Path, str]
    stack: str | None = None
    remat: str | None = None
    target: str = "scanify"


def keep(root: Path, rewrite: Rewrite, together: Iterable[Set[Path]]) -> None:
    """Store a rewrite, split into one entry per group of files that changed `together` and per other file.

    Paths are stored relative to the project's root.
    """
    top = cache_folder(root)
    changed = {path for path, text in rewrite.before.items() if rewrite.after[path] != text}
    for files in joined([*together, *({path} for path in changed)]) if top is not None else ():
        assert top is not None
        mine = {path: rewrite.before[path] for path in files & changed}
        if mine:
            _keep(root, top, mine, rewrite)


def keep_on(root: Path, before: Mapping[Path, str], after: Mapping[Path, str]) -> None:
    """Update stored rewrites after later changes to their scans, such as new policies; the originals stay the same.

    Changes to other scans are not stored, since they have no original loops.
    """
    for rewrite in kept(root):
        if any(before.get(path) == text and after[path] != text for path, text in rewrite.after.items()):
            now = {path: after[path] if before.get(path) == text else text for path, text in rewrite.after.items()}
            keep(root, replace(rewrite, after=now), [set(now)])


def joined(sets: Iterable[Set[Path]]) -> list[set[Path]]:
    """Merge sets that share elements into disjoint unions."""
    found: list[set[Path]] = []
    for one in sets:
        whole = set(one).union(*(other for other in found if other & one))
        found = [*(other for other in found if not other & one), whole]
    return found


def _keep(root: Path, top: Path, changed: Mapping[Path, str], rewrite: Rewrite) -> None:
    files = [[os.path.relpath(path, root), changed[path], rewrite.after[path]] for path in sorted(changed)]
    entry = {
        "format": FORMAT,
        "files": files,
        "stack": rewrite.stack,
        "remat": rewrite.remat,
        "target": rewrite.target,
    }
    text = json.dumps(entry)
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=20).hexdigest()
    write_entry(top / FOLDER, top, f"{digest}.json", text, _ENTRIES)


def kept(root: Path) -> list[Rewrite]:
    """Return the stored rewrites of a project, latest first. Unreadable entries are skipped."""
    top = cache_folder(root)
    if top is None or not (top / FOLDER).is_dir():
        return []
    entries = sorted((top / FOLDER).glob("*.json"), key=lambda each: each.stat().st_mtime_ns, reverse=True)
    return [rewrite for entry in entries if (rewrite := _read(entry, root)) is not None]


def _read(entry: Path, root: Path) -> Rewrite | None:
    try:
        found = json.loads(entry.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            return None
        files = [(Path(os.path.normpath(root / path)), str(old), str(new)) for path, old, new in found["files"]]
        return Rewrite(
            {path: old for path, old, _ in files},
            {path: new for path, _, new in files},
            found["stack"],
            found["remat"],
            str(found["target"]),
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None
