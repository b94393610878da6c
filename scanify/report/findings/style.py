"""Optional terminal colours."""

import click

from scanify.report.findings.finding import Level

_LEVELS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}


class Style:
    """Styles text with terminal codes if colours are enabled, and otherwise returns it unchanged."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def bold(self, text: str) -> str:
        """Style a place, which readers look for first."""
        return click.style(text, bold=True) if self._colour else text

    def faint(self, text: str) -> str:
        """Style line numbers and other framing around source."""
        return click.style(text, fg="blue") if self._colour else text

    def level(self, text: str, level: Level) -> str:
        """Style text in the colour of a severity."""
        return click.style(text, fg=_LEVELS[level], bold=True) if self._colour else text
