"""What a rewrite has changed, kept beside the project: the texts that `unroll` gives back byte for byte.

A rewrite loses what a scan has no place for: the name of a loop's variable, `zip(..., strict=True)`, how a list was
laid out. It is no business of the user's code to carry that along, so it is kept in the project's cache, which git
ignores. Without it the way back is read off the source.
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
    """One rewrite: the texts of each file before and after, and the options that it was made with."""

    before: Mapping[Path, str]
    after: Mapping[Path, str]
    stack: str | None = None
    remat: str | None = None
    target: str = "scanify"


def keep(root: Path, rewrite: Rewrite, together: Iterable[Set[Path]]) -> None:
    """Keep a rewrite that was written, by itself for the files that changed `together` and for each of the others.

    Paths are kept as they are below the project's root.
    """
    top = cache_folder(root)
    changed = {path for path, text in rewrite.before.items() if rewrite.after[path] != text}
    for files in joined([*together, *({path} for path in changed)]) if top is not None else ():
        assert top is not None
        mine = {path: rewrite.before[path] for path in files & changed}
        if mine:
            _keep(root, top, mine, rewrite)


def keep_on(root: Path, before: Mapping[Path, str], after: Mapping[Path, str]) -> None:
    """Keep that scans have changed which an earlier rewrite has made, such as their policies: the loops stay theirs.

    What no rewrite has made has no loops that could be given back.
    """
    for rewrite in kept(root):
        if any(before.get(path) == text and after[path] != text for path, text in rewrite.after.items()):
            now = {path: after[path] if before.get(path) == text else text for path, text in rewrite.after.items()}
            keep(root, replace(rewrite, after=now), [set(now)])


def joined(sets: Iterable[Set[Path]]) -> list[set[Path]]:
    """Sets without a common element, each the union of those that hang together."""
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
    """The rewrites of a project that were kept, the latest first. What cannot be read is passed over."""
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
