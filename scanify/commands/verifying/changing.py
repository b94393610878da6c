"""Shared code of the commands that change files: rewrite and unroll."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from scanify.commands.common import Given, in_colour
from scanify.commands.verifying.options import CaseRun, Running, choose_run
from scanify.errors import ScanifyError
from scanify.report import diff
from scanify.report.terminal import tell
from scanify.source.write import write_all

_SHOWING = (
    click.option("--diff", is_flag=True, help="Show what would change as a unified diff; write nothing."),
    click.option(
        "--check", is_flag=True, help="Only say whether anything would change, with exit code 1; write nothing."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Leave out what was done and what stays; errors are told."),
)

no_verify_option = click.option("--no-verify", is_flag=True, help="Do not run the cases of the configuration.")


def showing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--diff`, `--check` and `--quiet`."""
    for option in reversed(_SHOWING):
        command = option(command)
    return command


@dataclass(frozen=True)
class Showing:
    """How to present a change: with `diff` or `check` nothing is written, with `quiet` only errors are printed."""

    diff: bool
    check: bool
    quiet: bool

    @property
    def only(self) -> bool:
        """True if nothing is to be written."""
        return self.diff or self.check

    def sum_up(self, summary: str, *, failed: bool) -> None:
        """Print the summary on standard error, even if quiet when the command `failed`."""
        if failed or not self.quiet:
            tell(summary, nl=False, err=True)


def demand_no_contradiction(cases: tuple[str, ...], *, no_verify: bool) -> None:
    """Raise ScanifyError if a case is named although none is to be run."""
    if cases and no_verify:
        raise ScanifyError("--case and --no-verify contradict each other; give one of them")


def run_before_writing(cases: tuple[str, ...], given: Given, running: Running, no_verify: bool) -> CaseRun | None:
    """Return the cases to verify before writing, or None without any. Raises ScanifyError for standard input."""
    if no_verify:
        return None
    run = choose_run(cases, given.config, running)
    if run is not None and given.stdin is not None:
        raise ScanifyError("standard input cannot be verified; name a file, or give --no-verify")
    return run


def show_diff(before: Mapping[Path, str], after: Mapping[Path, str]) -> None:
    """Print the diff, in colour on a terminal."""
    text = diff.render(before, after, Path.cwd())
    click.echo(diff.coloured(text) if in_colour() else text, nl=False, color=in_colour())


def put(changes: Mapping[Path, tuple[bytes, bytes]], given: Given) -> None:
    """Write the files that change, or print the new text if the input came from standard input."""
    if given.stdin is None:
        write_all(changes, given.config.root)
        return
    sys.stdout.buffer.write(*[after for _, after in changes.values()] or [given.stdin])
    sys.stdout.flush()
