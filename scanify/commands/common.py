"""Arguments and options shared by the commands, and loading the project they name."""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, cast

import click

from scanify.analysis.obligation import ACCEPTABLE, UNSAFE
from scanify.configuration.config import AUTO, REMATS, STACKS, SYNONYMS, TARGETS, Config, load_config
from scanify.emit import policy_at_run_time
from scanify.errors import ScanifyError
from scanify.pipeline import Project, Stack, form_of
from scanify.report.progress import waiting
from scanify.report.sentences import plural, shown
from scanify.report.terminal import tell
from scanify.source.discover import Selection
from scanify.source.journal import finish_earlier
from scanify.source.root import normal
from scanify.verify.cases.command import parse_command, program_files

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

STDIN = "-"

paths_argument: Decorator = click.argument("paths", nargs=-1, required=True, metavar="PATHS...")


def or_here(context: click.Context, argument: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Default to the current folder if no path is named."""
    return value or (".",)


stack_option: Decorator = click.option(
    "--stack",
    type=click.Choice(STACKS),
    help="Where layers are stacked: where the list is built (init), which changes the parameter tree, or inside the "
    "call (call). Without it, each loop gets init where all uses of its list are understood, and call where the list "
    "comes from elsewhere.",
)

_target: Decorator = click.option(
    "--target",
    type=click.Choice(TARGETS),
    help="What loops become: stacks of scanify.nn (scanify, the default), of haliax.nn (haliax), or jax.lax.scan with "
    "no library but jax and equinox (lax); loops over modules of Flax NNX or Linen a scan of Flax (nnx, linen).",
)

_target_version = click.option(
    "--target-version",
    metavar="NAME==VERSION",
    help="With the target haliax: the release to write for, of haliax, marin-haliax or marin-levanter, such as "
    "marin-haliax==0.2.224. It says whether loops become an ArrayStacked or a Stacked. Without it, what is installed.",
)

REMAT_CHOICE = click.Choice((*REMATS, *SYNONYMS), case_sensitive=False)

remat_option: Decorator = click.option(
    "--remat",
    type=click.Choice((*REMATS, *SYNONYMS, AUTO), case_sensitive=False),
    callback=lambda context, option, value: SYNONYMS.get(value, value),
    help="The rematerialisation policy of the rewritten loops; auto is the cheapest that a case shows to fit into "
    "--memory-budget. Without it, that of ArrayStacked holds: full.",
)

budget_option: Decorator = click.option(
    "--memory-budget",
    metavar="SIZE",
    help="With --remat auto: the device memory that the compiled gradient of a case may need, such as 8GiB. That is "
    "parameters, inputs, gradients, outputs and temporaries, on the backend that the case runs on, without the state "
    "of an optimizer.",
)

accept_option: Decorator = click.option(
    "--accept",
    "accepted",
    multiple=True,
    type=click.Choice(ACCEPTABLE),
    callback=lambda context, option, values: frozenset(values),
    help="Take unverified what no case shows. elsewhere: other code that reads the tree of parameters or uses the "
    "list; without this, such a list stays when a case verifies its loop, and is stacked in each call. cost: values, "
    "such as the caches of a decoder, are copied into a stack and out of it in each call.",
)

advise_option: Decorator = click.option(
    "--advise",
    is_flag=True,
    help="Also compile and run the loop and its scan on each case, and say where scanning does not pay. That changes "
    "neither verdict nor exit code.",
)

stdin_option: Decorator = click.option(
    "--stdin-filename",
    metavar="FILE",
    help="With `-`: the file that standard input stands for, in the project that it is a part of.",
)


_no_exclude = click.option(
    "--no-exclude", is_flag=True, help="Take files that `exclude` of the configuration leaves out."
)
_no_gitignore = click.option("--no-gitignore", is_flag=True, help="Take files that git ignores.")


def unsafe_options(what: str) -> Decorator:
    """Add `--unsafe` with the help text `what`, and `--accept`; the command gets both as `accepted`."""
    unsafe = click.option("--unsafe", is_flag=True, help=what)

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def of_both(*args: Any, unsafe: bool, accepted: frozenset[str], **kwargs: Any) -> Any:
            return command(*args, accepted=frozenset((UNSAFE, *ACCEPTABLE)) if unsafe else accepted, **kwargs)

        return unsafe(accept_option(of_both))

    return decorated


@dataclass(frozen=True)
class Wanted:
    """The target and its release as named on the command line; None if not named."""

    target: str | None = None
    version: str | None = None

    @property
    def said(self) -> bool:
        return self.target is not None or self.version is not None


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--target` and `--target-version`, which the command gets as `wanted`."""

    @wraps(command)
    def of_both(*args: Any, target: str | None, target_version: str | None, **kwargs: Any) -> Any:
        return command(*args, wanted=Wanted(target, target_version), **kwargs)

    return _target(_target_version(of_both))


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--no-exclude` and `--no-gitignore`."""
    return _no_exclude(_no_gitignore(command))


def in_colour() -> bool:
    """True if standard output is a terminal, unless overridden by `NO_COLOR` or `FORCE_COLOR`."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return not os.environ.get("NO_COLOR") and sys.stdout.isatty()


@dataclass(frozen=True)
class Given:
    """The input of a command: the project and its configuration, how to stack, and the contents of standard input.

    `accepted` holds the kinds of obligations that the user accepts unverified.
    """

    project: Project
    config: Config
    stack: Stack | None
    stdin: bytes | None = None
    target: str = TARGETS[0]
    remat: str | None = None
    accepted: frozenset[str] = frozenset()

    @property
    def changes_policies(self) -> bool:
        """True if existing stacks are also changed to the policy named on the command line."""
        return self.remat is not None and self.policy_at_run_time

    @property
    def policy_at_run_time(self) -> bool:
        """True if one rewritten text can be verified under every policy."""
        return policy_at_run_time(self.target)


def load_project(
    paths: tuple[str, ...],
    stack: str | None,
    stdin_filename: str | None = None,
    *,
    no_exclude: bool = False,
    no_gitignore: bool = False,
    wanted: Wanted | None = None,
    accepted: frozenset[str] = frozenset(),
    quiet: bool = False,
    writes: bool = False,
    commands: tuple[str, ...] = (),
) -> Given:
    """Read the files that `paths` name.

    With `writes`, first recover files left incomplete by a killed run. Programs run by `commands` or by commands of the
    configuration are loaded with the project, wherever they are. Warns on standard error if there are no Python files,
    unless `quiet`. Raises ScanifyError if a path does not exist.
    """
    if "" in paths:
        raise ScanifyError(
            "expected files or folders, got an empty name (a variable that is not set?); `.` is this folder"
        )
    if STDIN in paths:
        given = _from_stdin(paths, stack, stdin_filename, no_exclude=no_exclude, no_gitignore=no_gitignore)
        return replace(given, target=_form(given.project, given.config, wanted))
    if stdin_filename is not None:
        raise ScanifyError(f"--stdin-filename goes with `{STDIN}` for standard input; got {', '.join(paths)}")
    files = [Path(path) for path in paths]
    config = load_config(files)
    selection = Selection(config.root, () if no_exclude else config.exclude, not no_gitignore)
    if writes:
        _finish_earlier(config.root)
    with waiting(f"reading {', '.join(paths)} ..."):
        runs = [(text, Path.cwd()) for text in commands] or [(text, config.root) for _, text in config.commands]
        programs = [path for text, folder in runs for path in program_files(parse_command(text, folder))]
        project = Project.load(files, selection=selection, programs=programs)
    if not project.sources and not project.skipped and not quiet:
        tell(f"scanify: {_nothing(files, selection)}", err=True)
    return Given(project, config, _stack(stack, config), target=_form(project, config, wanted), accepted=accepted)


def _form(project: Project, config: Config, wanted: Wanted | None) -> str:
    """Return the emitter of the named or configured target; a configured release is for the configured target only."""
    wanted = wanted or Wanted()
    target = wanted.target or config.target
    return form_of(project.every, target, wanted.version or config.version_of(target))


def _finish_earlier(root: Path) -> None:
    written, left = finish_earlier(root)
    for path in written:
        said = "holds now what a run that was stopped had begun to write"
        tell(f"scanify: {shown(path, Path.cwd())} {said}", err=True)
    for path in left:
        said = "was to be written by a run that was stopped, and was changed since: it stays as it is"
        tell(f"scanify: {shown(path, Path.cwd())} {said}", err=True)


def _nothing(files: list[Path], selection: Selection) -> str:
    """Explain why no file was read."""
    for file in files:
        pattern = selection.excluded_by(normal(file))
        if pattern is not None:
            return f"{file} is left out by {pattern!r} in `exclude` of the configuration; --no-exclude takes it"
    return f"no Python files under {', '.join(map(str, files))}"


def _from_stdin(
    paths: tuple[str, ...], stack: str | None, stdin_filename: str | None, *, no_exclude: bool, no_gitignore: bool
) -> Given:
    if len(paths) > 1:
        raise ScanifyError(f"`{STDIN}` reads one file from standard input; got other paths too: {', '.join(paths)}")
    name = Path(stdin_filename or "stdin.py")
    config = load_config([name])
    if sys.stdin is None:
        raise ScanifyError(f"`{STDIN}` reads standard input, which is closed")
    data = sys.stdin.buffer.read()
    if stdin_filename is None:
        return Given(Project.of_text(data, name, root=config.root), config, _stack(stack, config), data)
    selection = Selection(config.root, () if no_exclude else config.exclude, not no_gitignore)
    pattern = selection.excluded_by(normal(name))
    if pattern is not None:
        tell(f"scanify: {_nothing([name], selection)}", err=True)
        return Given(Project([], [], config.root), config, _stack(stack, config), data)
    project = Project.of_text(data, name, root=config.root, selection=selection)
    return Given(project, config, _stack(stack, config), data)


def analysing(given: Given) -> AbstractContextManager[None]:
    """Show a message on a terminal while the block runs."""
    return waiting(
        f"analysing {plural(len(given.project.sources), 'file')} and the project in {given.project.root} ..."
    )


def write_output(output: str, text: str) -> None:
    """Write a report to the file of `--output`. Raises ScanifyError if it cannot be written."""
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ScanifyError(f"--output: {output} cannot be written: {error.strerror}") from None


def _stack(option: str | None, config: Config) -> Stack | None:
    return cast(Stack | None, option or config.stack)


def demand_policy_at_run_time(given: Given, what: str) -> None:
    """Raise ScanifyError if a rewritten text has a single policy; `what` begins the message."""
    if not given.policy_at_run_time:
        raise ScanifyError(
            f"{what} on one rewritten text, and the target {given.target} writes the policy into the text; name one "
            "policy with --remat, or take the target scanify"
        )
