"""The formats of `scanify check --format`, by name. The module of a format is imported on first use."""

import importlib

from scanify.report.findings.finding import Findings

FORMATS = ("full", "concise", "json", "github", "gitlab", "sarif", "junit", "markdown")
# The formats that people read on a terminal.
COLOURED = ("full", "concise")


def render(found: Findings, form: str) -> str:
    """Render the whole document, with a final newline unless it is empty; `form` is one of `FORMATS`."""
    if form not in FORMATS:
        raise ValueError(f"expected one of the formats {', '.join(FORMATS)}; got {form!r}")
    text: str = importlib.import_module(f"scanify.report.findings.{form}").render(found)
    return text
