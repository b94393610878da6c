"""Colours of a terminal, where they are wanted."""

import click

from scanify.report.findings.finding import Level

_LEVELS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}


class Style:
    """Texts as they are, or with the codes of a terminal around them."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def bold(self, text: str) -> str:
        """What is looked for first: a place."""
        return click.style(text, bold=True) if self._colour else text

    def faint(self, text: str) -> str:
        """What frames the source: numbers of lines."""
        return click.style(text, fg="blue") if self._colour else text

    def level(self, text: str, level: Level) -> str:
        """What says how much a finding matters."""
        return click.style(text, fg=_LEVELS[level], bold=True) if self._colour else text
