"""Store the result of the last verification of each file, for display only."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.cache_folder import cache_folder, write_entry

if TYPE_CHECKING:
    from scanify.verify.verdict import CaseResult, Verification

_FOLDER = "verdicts"
_ENTRIES = 500


def keep_verdict(root: Path, texts: Mapping[Path, str], result: "Verification") -> None:
    """Store the result of verifying the rewrite of these texts."""
    top = cache_folder(root)
    if top is None:
        return
    unshown = "".join(f", {each}" for each in (result.not_shown, result.held_back) if each)
    cases = [[case.name, f"{_words(case)}{unshown}", case.good] for case in result.cases]
    for path, text in texts.items():
        entry = {"text": _digest(text), "cases": cases}
        write_entry(top / _FOLDER, top, _name(path), json.dumps(entry), _ENTRIES)


def last_verdict(root: Path, path: Path, text: str) -> str:
    """Return the last verification of a file's rewrite as Markdown, or "" without any."""
    top = cache_folder(root)
    try:
        entry = json.loads((top / _FOLDER / _name(path)).read_text(encoding="utf-8")) if top is not None else {}
        said = "; ".join(f"{'✓' if good else '✗'} {name}: {words}" for name, words, good in entry["cases"])
        known = entry["text"] == _digest(text)
    except (OSError, ValueError, TypeError, KeyError):
        return ""
    return f"**Last verification**{'' if known else ' (of an earlier text of this file)'} {said}"


def _words(case: "CaseResult") -> str:
    if case.error is not None:
        return "could not be run"
    said = [f"parameters {case.parameters.status.value}"] if case.parameters is not None else []
    for name in ("outputs", "gradients"):
        statuses = dict.fromkeys(getattr(each, name).status.value for each in case.policies if not each.unsupported)
        said += [f"{name} {' and '.join(statuses)}"] if statuses else []
    said += [case.proviso] if case.proviso and said else []
    return ", ".join(said)


def _name(path: Path) -> str:
    return f"{_digest(str(path))}.json"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
