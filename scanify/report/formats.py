"""The document formats of `scanify verify --format`, by name."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from scanify.report.sentences import shorten
from scanify.report.verification.html import verification_html
from scanify.report.verification.json import verification_json
from scanify.report.verification.junit import verification_junit
from scanify.report.verification.markdown import verification_markdown
from scanify.verify.children.codec import from_json, to_json
from scanify.verify.verdict import Verification


def _json(verification: Verification) -> str:
    return json.dumps(verification_json(verification), indent=2, allow_nan=False) + "\n"


_RENDERERS: dict[str, Callable[[Verification], str]] = {
    "json": _json,
    "markdown": verification_markdown,
    "junit": verification_junit,
    "html": verification_html,
}
FORMATS = tuple(_RENDERERS)


def render(verification: Verification, form: str, *, folder: Path | None = None) -> str:
    """Render the whole document, ending with a newline, to be written as UTF-8; `form` is one of `FORMATS`.

    With `folder`, paths below it are shown relative to it; the diff and the output of the cases are unchanged.
    Raises ValueError for an unknown format.
    """
    if form not in _RENDERERS:
        raise ValueError(f"expected one of the formats {', '.join(FORMATS)}; got {form!r}")
    return _RENDERERS[form](verification if folder is None else _relative(verification, folder))


def _relative(verification: Verification, folder: Path) -> Verification:
    def short(value: Any) -> Any:
        if isinstance(value, str):
            return shorten(value, folder)
        if isinstance(value, list):
            return [short(item) for item in value]
        return {name: short(item) for name, item in value.items()} if isinstance(value, dict) else value

    moved = from_json(Verification, short(to_json(verification)))
    cases = zip(moved.cases, verification.cases, strict=True)
    return replace(moved, cases=tuple(replace(new, output=old.output) for new, old in cases), diff=verification.diff)
