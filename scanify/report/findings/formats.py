"""The formats of `scanify check --format`, by name. The module of one is imported when it is asked for."""

import importlib

from scanify.report.findings.finding import Findings

FORMATS = ("full", "concise", "json", "github", "gitlab", "sarif", "junit", "markdown")
# Those that people read on a terminal.
COLOURED = ("full", "concise")


def render(found: Findings, form: str) -> str:
    """The whole document, ending with a newline where there is any; `form` is one of `FORMATS`."""
    if form not in FORMATS:
        raise ValueError(f"expected one of the formats {', '.join(FORMATS)}; got {form!r}")
    text: str = importlib.import_module(f"scanify.report.findings.{form}").render(found)
    return text
