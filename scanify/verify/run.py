"""Verify rewritten files on cases, for the command line. Imports no jax and runs no user code itself."""

import importlib.metadata
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import scanify
from scanify.errors import ScanifyError
from scanify.verify.cache.cache import Cache
from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.codec import from_json, to_json
from scanify.verify.children.limits import Limits, human_bytes
from scanify.verify.children.process import Outcome, run_child
from scanify.verify.depth import with_depth
from scanify.verify.installed import require
from scanify.verify.request import Change, Extras, Request, Response, Tree
from scanify.verify.unscanned import with_loops_that_stay
from scanify.verify.verdict import CaseResult, Verification
from scanify.verify.versions.project import is_installed

Changes = Mapping[Path, tuple[bytes | None, bytes | None]]


def verify(
    changes: Changes,
    cases: Sequence[CaseSpec],
    *,
    policies: Sequence[str | None],
    requested: str | None,
    abstract: bool = False,
    measure: bool = True,
    limits: Limits | None = None,
    target: Path | None = None,
    rewritten_target: Path | None = None,
    cache: Cache | None = None,
    notify: Callable[[str], None] = lambda step: None,
    comparer: str = "scanify.verify.compare.compare:compare_case",
    data: Sequence[Path] = (),
    tree: Callable[[], AbstractContextManager[Tree]] | None = None,
    certificates: Path | None = None,
    **extras: Unpack[Extras],
) -> Verification:
    """Compare the original and the rewritten files on every case, each case in a process of its own.

    `changes` gives each file's original and rewritten bytes, None if it does not exist; nothing is written. Cases get
    the module of the file `target`, by default the first of `changes`. A case whose results are in the `cache` is not
    run; one that reads one of the `data` is run with the original in the `tree`, if any. For more see `Request`.

    Raises ScanifyError without jax or equinox, and if there is nothing to verify or no case.
    """
    _check_usage(changes, cases, policies)
    base = Request(
        case=cases[0],
        target=_absolute(target or next(iter(changes))),
        changes=tuple(Change(_absolute(path), *texts) for path, texts in changes.items()),
        policies=tuple(policies),
        requested=requested,
        abstract=abstract,
        measure=measure,
        directory=Path.cwd(),
        rewritten_target=None if rewritten_target is None else _absolute(rewritten_target),
        comparer=comparer,
        data=tuple(_absolute(path) for path in data),
        certificates=certificates,
        **extras,
    )
    results, own = list[CaseResult](), None
    with ExitStack() as stack:
        for case in cases:
            notify(f"verifying {case.text}")
            request = replace(base, case=replace(case, path=_absolute(case.path)))
            found, other_data = _cached(request, cache), False
            if not found:
                found, other_data = _run(request, limits or Limits(), cache, notify)
            if other_data and tree is not None:
                own = own or stack.enter_context(tree())
                found, _ = _run(_in_two_trees(request, own), limits or Limits(), None, notify)
            results += found
    return Verification(with_depth(with_loops_that_stay(results)), versions())


def _in_two_trees(request: Request, tree: Tree) -> Request:
    """Put the original into its own tree. Results are not cached, since the tree has a new place each time."""
    original, rewritten = tree.place(request.target), request.target
    changes = tuple(Change(path, path.read_bytes(), path.read_bytes()) for path in (original, rewritten))
    return replace(request, tree=tree, target=original, rewritten_target=rewritten, changes=changes)


def versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of Python, jax, equinox and scanify that cases run on, without importing jax."""
    found = [("python", ".".join(map(str, sys.version_info[:3])))]
    for name in ("jax", "equinox"):
        try:
            found.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            found.append((name, "unknown"))
    return (*found, ("scanify", scanify.__version__))


def _absolute(path: Path) -> Path:
    """Remove `..`, but keep symbolic links: they decide under which name a file is imported."""
    return Path(os.path.normpath(path.absolute()))


def _check_usage(changes: Changes, cases: Sequence[CaseSpec], policies: Sequence[str | None]) -> None:
    require("verification runs the model and")
    if sys.platform == "win32":
        raise ScanifyError("verification runs cases in a POSIX process session, which Windows lacks; use WSL")
    if not changes:
        raise ScanifyError("nothing to verify: no file is changed by the rewrite")
    if not cases:
        raise ScanifyError(
            "verification needs a case: name one with --case FILE:FUNCTION or in [tool.scanify.cases] of pyproject.toml"
        )
    if not policies:
        raise ScanifyError("verification needs at least one remat policy to verify under, such as --remat nested")
    for path in changes:
        if path.suffix != ".py":
            raise ScanifyError(f"{path}: only Python files (.py) can be verified")
        if is_installed(path.absolute()):
            raise ScanifyError(f"{path} belongs to an installed package; verify it in a checkout of its source")


def _cached(request: Request, cache: Cache | None) -> list[CaseResult]:
    """Return the results of an earlier run; none without one."""
    started = time.perf_counter()
    found = None if cache is None else cache.lookup(request)
    if found is None:
        return []
    first, *rest = found
    seconds = (("total", time.perf_counter() - started),)
    return [replace(first, seconds=seconds), *(replace(each, seconds=()) for each in rest)]


def _run(
    request: Request, limits: Limits, cache: Cache | None, notify: Callable[[str], None]
) -> tuple[list[CaseResult], bool]:
    """Return the results, and True if there are none because the code reads data files that differ."""

    def tell(step: str) -> None:
        notify(f"verifying {request.case.text}: {step}")

    outcome = run_child(json.dumps(to_json(request)).encode(), limits, notify=tell)
    if outcome.response is None:
        ended = CaseResult(request.case.text, error=_ended(request.case, outcome, limits))
        return _with_outcome([ended], outcome), False
    try:
        response = from_json(Response, json.loads(outcome.response))
    except (ValueError, TypeError) as error:
        nonsense = f"{request.case.text}: its process answered nonsense: {error}"
        return _with_outcome([CaseResult(request.case.text, error=nonsense)], outcome), False
    results = _with_outcome(list(response.results), outcome)
    if cache is not None:
        cache.keep(request, response, results)
    return results, response.other_data


def _with_outcome(results: list[CaseResult], outcome: Outcome) -> list[CaseResult]:
    """Add output and time of a process, which belong to no single variant, to the first result that is not good."""
    at = next((i for i, result in enumerate(results) if not result.good), 0)
    seconds = (*results[at].seconds, ("total", outcome.seconds))
    results[at] = replace(results[at], output=outcome.output, seconds=seconds)
    return results


def _ended(case: CaseSpec, outcome: Outcome, limits: Limits) -> str:
    if outcome.stopped == "time":
        return (
            f"{case.text} was stopped: it ran longer than the time limit of {limits.seconds:g} s. "
            "Make the model smaller, or raise the limit with --time-limit SECONDS"
        )
    if outcome.stopped == "memory":
        return (
            f"{case.text} was stopped: it took {human_bytes(outcome.peak)} of memory, more than the limit of "
            f"{human_bytes(limits.memory)}. Build it without weights (--abstract), make the model smaller, or raise "
            "the limit with --memory-limit SIZE"
        )
    code = outcome.returncode
    if code is not None and code < 0:
        hint = "; the system may have run out of memory" if -code == signal.SIGKILL else ""
        how = f"its process was killed by {_signal_name(-code)}{hint}"
    else:
        how = f"its process ended (exit code {code}) before the versions were compared"
    return f"{case.text}: {how}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
