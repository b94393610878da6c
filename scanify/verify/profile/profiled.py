"""Profile one case: its startup programs, traced, lowered, and split by source loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import jax

from scanify.errors import ScanifyError
from scanify.verify.cases.build import Built, Case, build
from scanify.verify.cases.start import is_recorded
from scanify.verify.children.telling import tell
from scanify.verify.profile.locations import origins
from scanify.verify.profile.shares import Attribution, Files
from scanify.verify.profile.startup import Program, Share, Startup
from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.trace import Version, under, version, vjp
from scanify.verify.values.arrays import is_inexact, struct
from scanify.verify.verdict import CaseResult


def profiled_case(name: str, before: Case, after: Case, *, files: Files, measure: bool, **unused: Any) -> CaseResult:
    """Profile the first version, and compile its programs if `measure` is true.

    A comparer for `scanify.verify.run.verify` that compares nothing. Raises ScanifyError if the model cannot be traced.
    """
    return CaseResult(name, startup=_startup(before, _Profiler(Attribution(files, __file__), measure)))


def profiled_both(name: str, before: Case, after: Case, *, files: Files, measure: bool, **unused: Any) -> CaseResult:
    """Profile both versions, but the second one by size alone."""
    startup = _startup(before, _Profiler(Attribution(files, __file__), measure))
    rewritten = _startup(after, _Profiler(None, measure))
    return CaseResult(name, startup=Startup(startup.programs, rewritten.programs, startup.notes))


@dataclass(frozen=True, eq=False)
class _Profiler:
    """Lowers a function and measures the size of its program; without `attribution`, not its sources."""

    attribution: Attribution | None
    compiles: bool

    def program(self, name: str, function: Callable[..., Any], *given: Any) -> Program:
        tell(f"tracing the {name}")
        start = time.perf_counter()
        with _whole_stacks():
            staged = jax.jit(function).trace(*given)
            middle = time.perf_counter()
            lowered = staged.lower()
        end = time.perf_counter()
        shares: tuple[Share, ...] = ()
        outside = 0
        if self.attribution is not None:
            shares, outside = self.attribution.shares(origins(lowered.as_text(debug_info=True)))
        lines = lowered.as_text().count("\n")
        seconds = memory = None
        if self.compiles:
            tell(f"compiling the {name}")
            begin = time.perf_counter()
            analysis = lowered.compile().memory_analysis()
            seconds = time.perf_counter() - begin
            memory = None if analysis is None else int(analysis.temp_size_in_bytes)
        return Program(name, lines, middle - start, end - middle, seconds, memory, shares, outside)


@contextmanager
def _whole_stacks() -> Iterator[None]:
    """Record locations with all frames; by default jax keeps the ten innermost."""
    before = jax.config.jax_traceback_in_locations_limit
    jax.config.update("jax_traceback_in_locations_limit", -1)
    try:
        yield
    finally:
        jax.config.update("jax_traceback_in_locations_limit", before)


def _startup(case: Case, profiler: _Profiler) -> Startup:
    notes: list[str] = []
    programs: list[Program] = []
    start = time.perf_counter()
    built = None if is_recorded(case) else _abstract(case, notes)
    seconds = time.perf_counter() - start  # including the first trace, as for every user
    if is_recorded(case):
        notes.append("the call is one that the command makes; what builds the model is not profiled")
    if built is not None:
        programs.append(replace(profiler.program("constructor", lambda: _arrays(case)), trace_seconds=seconds))
    else:
        built = build(case, abstract=False)
    program = version(built)
    own = [struct(leaf) for leaf in built.arrays]
    with under(None, program):
        outputs: list[Any] = []

        def call(leaves: list[Any]) -> list[Any]:
            outputs[:] = flat_outputs(program.call(leaves))[0]
            return list(outputs)

        programs.append(profiler.program("call", call, own))
        cotangents = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in outputs if is_inexact(each)]
        try:
            programs.append(profiler.program("gradient", _gradient(program), own, cotangents))
        except Exception as error:  # the call may not support differentiation
            said = str(error).strip().splitlines()
            notes.append(f"no gradient: {type(error).__name__}: {said[0] if said else ''}")
    return Startup(tuple(programs), notes=tuple(notes))


def _abstract(case: Case, notes: list[str]) -> Built | None:
    """Build the model without weights; None if its constructor cannot be traced, which is noted."""
    try:
        return build(case, abstract=True)
    except ScanifyError:
        raise
    except Exception as error:
        said = str(error).strip().splitlines()
        notes.append(f"the constructor cannot be traced: {type(error).__name__}: {said[0] if said else ''}")
        return None


def _arrays(case: Case) -> list[Any]:
    return [leaf for leaf in jax.tree.leaves(case()) if isinstance(leaf, jax.Array)]


def _gradient(program: Version) -> Callable[..., Any]:
    def both(leaves: list[Any], cotangents: list[Any]) -> tuple[list[Any], list[Any]]:
        arrays, pull = vjp(program, leaves)
        return arrays, list(pull(list(cotangents)))

    return both
