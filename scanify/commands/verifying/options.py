"""The options that choose the cases and how to run them, and the resulting run."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scanify.configuration.config import Config
from scanify.errors import ScanifyError
from scanify.verify.cache.cache import Cache
from scanify.verify.cases.case import command_case, parse_case
from scanify.verify.children.limits import Limits, parse_memory

if TYPE_CHECKING:
    from scanify.verify.cases.case import CaseSpec

_RUNNING = (
    click.option("--abstract", is_flag=True, help="Build the model under jax.eval_shape: shapes only, no weights."),
    click.option(
        "--execute",
        is_flag=True,
        help="Compile and run what is proved, too, on jax's default device: a compiler may be wrong where programs are "
        "right.",
    ),
)
_LIMITS = (
    click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="For each case."),
    click.option("--memory-limit", metavar="SIZE", help="For each case, such as 8GiB."),
)


_RUN = click.option(
    "--run",
    "commands",
    multiple=True,
    metavar="COMMAND",
    help='Take the calls that a program of yours makes as cases: "python train.py --steps 1", "pytest tests". '
    "It runs once with each version that is looked at, up to the calls of the functions that hold the loops. May be "
    "given several times.",
)

_NO_CACHE = click.option(
    "--no-cache",
    is_flag=True,
    help="Run every case, and keep no result. Otherwise good results are kept in .scanify_cache or $SCANIFY_CACHE_DIR, "
    "and hold until a file that the case imports, reads or asks about, an option or a package changes. Where "
    "$CI is set, only $SCANIFY_CACHE_DIR is used.",
)


@dataclass(frozen=True)
class Running:
    """How to run cases: `seconds` and `memory` (a size as text) limit each case, None by default.

    `commands` are programs whose calls become further cases; with `cache`, good results are kept and reused.
    """

    seconds: float | None = None
    memory: str | None = None
    abstract: bool = False
    execute: bool = False
    commands: tuple[str, ...] = ()
    cache: bool = False

    @property
    def limits(self) -> "Limits":
        """The limits of each case. Raises ScanifyError if the memory is not a size."""
        return self.limited(Limits())

    def limited(self, limits: "Limits") -> "Limits":
        """Override `limits` from the command line. Raises ScanifyError like `limits`."""
        if self.seconds is not None:
            limits = replace(limits, seconds=self.seconds)
        return limits if self.memory is None else replace(limits, memory=parse_memory(self.memory))


@dataclass(frozen=True)
class CaseRun:
    """The cases to run, the limits of each, whether models are built without weights, and where results are kept.

    Proofs are written to the folder `certificates`; with `execute`, proved programs are also run. `proposed` cases are
    guesses, so a loop that they do not show is not a failure.
    """

    cases: "tuple[CaseSpec, ...]"
    limits: "Limits"
    abstract: bool
    cache: "Cache | None" = None
    certificates: Path | None = None
    execute: bool = False
    proposed: bool = False

    @property
    def recorded(self) -> bool:
        """True if a case is a recorded command."""
        return any(case.command is not None for case in self.cases)


def limit_options(*, recorded: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the limits of each case, passed to the command as `running`; with `--run` if calls can be recorded."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def bundled(
            *args: Any,
            time_limit: float | None,
            memory_limit: str | None,
            commands: tuple[str, ...] = (),
            **kwargs: Any,
        ) -> Any:
            return command(*args, running=Running(time_limit, memory_limit, commands=commands), **kwargs)

        return _all(bundled, (*((_RUN,) if recorded else ()), *_LIMITS))

    return decorate


def run_options(*, recorded: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options for running cases, passed to the command as `running`; with `--run` if calls can be recorded."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def bundled(
            *args: Any,
            abstract: bool,
            execute: bool,
            time_limit: float | None,
            memory_limit: str | None,
            no_cache: bool,
            commands: tuple[str, ...] = (),
            **kwargs: Any,
        ) -> Any:
            running = Running(time_limit, memory_limit, abstract, execute, commands, not no_cache)
            return command(*args, running=running, **kwargs)

        return _all(bundled, (*((_RUN,) if recorded else ()), *_RUNNING, *_LIMITS, _NO_CACHE))

    return decorate


def _all(command: Callable[..., Any], options: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def _choose_cases(named: tuple[str, ...], config: Config, commands: tuple[str, ...]) -> "tuple[CaseSpec, ...]":
    """Return the cases and `commands` of the command line; a case is FILE:FUNCTION or a name of the configuration.

    Without any, return all of the configuration. Raises ScanifyError for an unknown case or program.
    """
    known, runs = dict(config.cases), dict(config.commands)
    if commands or set(named) & set(runs) or (runs and not named):
        recorded = choose_commands(commands)
        recorded += [command_case(runs[name], config.root) for name in named if name in runs]
        if not named and not commands:
            recorded += [command_case(text, config.root) for text in runs.values()]
        rest = tuple(name for name in named if name not in runs)
        written = _choose_cases(rest, replace(config, commands=()), ()) if rest or not (named or commands) else ()
        return (*written, *recorded)
    unknown = [text for text in named if ":" not in text and text not in known]
    if unknown:
        there = f"the configuration has {', '.join(known)}" if known else "the configuration has none"
        raise ScanifyError(f"a case is FILE:FUNCTION, such as cases.py:gpt, or a name; got {unknown[0]!r}; {there}")
    if not named and not known:
        return ()
    if not named:
        return tuple(parse_case(text, config.root) for text in known.values())
    return tuple(parse_case(known[text], config.root) if text in known else parse_case(text) for text in named)


def choose_commands(commands: tuple[str, ...]) -> "list[CaseSpec]":
    """Return a case for each command of the command line. Raises ScanifyError if a program does not exist."""
    return [command_case(text, Path.cwd()) for text in commands]


def choose_run(named: tuple[str, ...], config: Config, running: Running) -> CaseRun | None:
    """Return the cases named on the command line or in the configuration, or None without any.

    Results are kept in the folder of the configuration. Raises ScanifyError if a case does not exist, if the memory is
    not a size, or if models without weights were to be executed.
    """
    if running.abstract and running.execute:
        raise ScanifyError("--execute runs the model, and --abstract builds it without weights; give one of them")
    cases = _choose_cases(named, config, running.commands)
    if not cases:
        return None
    cache = Cache.of(config.root) if running.cache else None
    return CaseRun(cases, running.limits, running.abstract, cache, execute=running.execute)
