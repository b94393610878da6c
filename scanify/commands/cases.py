"""Cases on the command line and in the configuration, and verifying a rewrite on them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scanify.config import REMATS, Config
from scanify.errors import ScanifyError
from scanify.pipeline import Outcome, Project
from scanify.report.sentences import shown

if TYPE_CHECKING:
    from scanify.verify.case import CaseSpec
    from scanify.verify.limits import Limits
    from scanify.verify.verdict import Verification

_OPTIONS = (
    click.option("--abstract", is_flag=True, help="Build the model under jax.eval_shape: shapes only, no weights."),
    click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="For each case."),
    click.option("--memory-limit", metavar="SIZE", help="For each case, such as 8GiB."),
)


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options on how a case is run."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def choose_cases(named: tuple[str, ...], config: Config) -> "tuple[CaseSpec, ...]":
    """The cases named on the command line, as FILE:FUNCTION or by a name of the configuration; without any, all of the
    configuration. Raises ScanifyError where there is no such case.
    """
    known = dict(config.cases)
    unknown = [text for text in named if ":" not in text and text not in known]
    if unknown:
        there = f"the configuration has {', '.join(known)}" if known else "the configuration has none"
        raise ScanifyError(f"a case is FILE:FUNCTION, such as cases.py:gpt, or a name; got {unknown[0]!r}; {there}")
    if not named and not known:
        return ()
    from scanify.verify.case import parse_case

    if not named:
        return tuple(parse_case(text, config.root) for text in known.values())
    return tuple(parse_case(known[text], config.root) if text in known else parse_case(text) for text in named)


def choose_limits(seconds: float | None, memory: str | None) -> "Limits":
    """The limits that the options ask for. Raises ScanifyError where the memory is not a size."""
    from scanify.verify.limits import Limits, parse_memory

    default = Limits()
    return Limits(seconds or default.seconds, parse_memory(memory) if memory else default.memory)


def verify_outcome(
    outcome: Outcome,
    project: Project,
    cases: "Sequence[CaseSpec]",
    *,
    requested: str | None,
    limits: "Limits",
    abstract: bool,
    measure: bool,
    policies: Sequence[str] = REMATS,
) -> "Verification":
    """Verify what `outcome` would change on `cases`, under all policies unless some are named."""
    from scanify.verify.run import verify

    return verify(
        outcome.changes,
        cases,
        policies=tuple(dict.fromkeys([*policies, *([requested] if requested else [])])),
        requested=requested,
        abstract=abstract,
        measure=measure,
        limits=limits,
        target=_target(outcome, project),
        notify=lambda step: click.echo(f"scanify: {step}", err=True),
    )


def _target(outcome: Outcome, project: Project) -> Path:
    """The file whose module the cases are given: the one file named, or the one file with rewritten loops.

    Raises ScanifyError where there are several: which of them a case means is not to be guessed.
    """
    if len(project.sources) == 1:
        return project.sources[0].path
    files = sorted({plan.place.path for plan in outcome.applied})
    if len(files) == 1:
        return files[0]
    names = ", ".join(shown(path, Path.cwd()) for path in files)
    raise ScanifyError(f"a case is given the module of one file, and {len(files)} would change ({names}); name one")
