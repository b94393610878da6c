"""Compare two functions of this process as functions of the arrays among the same arguments.

This is the comparison of a case for two versions of a file, without its processes: both functions exist already, so
they cannot be loaded separately. Each is traced twice, and must be the same program both times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.errors import ScanifyError
from scanify.jaxpr.reading.user_rules import has_derivative_rules
from scanify.verify.cases.build import Built
from scanify.verify.compare.batched import batched
from scanify.verify.compare.gradients import gradients, second_derivatives
from scanify.verify.compare.judge import Once, Subject
from scanify.verify.compare.keys import keys
from scanify.verify.compare.outputs import outputs
from scanify.verify.compare.tangents import tangents
from scanify.verify.equality import ORDERS, Equality
from scanify.verify.leaves.correspond import Correspondence, correspond
from scanify.verify.leaves.paths import named
from scanify.verify.measure.steps import Steps
from scanify.verify.programs.pair import Pair, positional
from scanify.verify.programs.programs import call_digest
from scanify.verify.programs.trace import Traced, trace, version
from scanify.verify.proof.attempt import rewritten
from scanify.verify.values.arrays import is_traced, struct
from scanify.verify.values.numeric import Comparison
from scanify.verify.verdict import Status, Verdict
from scanify.verify.versions.project import Project

Function = Callable[..., Any]


def equality(f: Function, g: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], up_to: int) -> Equality:
    """Compare two functions; see `scanify.prove_equal`."""
    if not callable(f) or not callable(g):
        raise ScanifyError(f"expected two functions to compare, got {type(f).__name__} and {type(g).__name__}")
    if isinstance(up_to, bool) or up_to not in range(len(ORDERS)):
        orders = "; ".join(f"{order} for {what}" for order, what in enumerate(ORDERS))
        raise ScanifyError(f"expected up_to to be an order of derivatives, {orders}; got {up_to!r}")
    both, abstract = _pair(f, g, args, dict(kwargs))
    files = _Files()
    original = trace(both.before, both.avals)
    if not original.outputs.avals:
        raise ScanifyError("expected the first function to return arrays, got none: there is nothing to compare")
    second = rewritten("cannot be traced", lambda: trace(both.after, both.avals), files)
    if isinstance(second, Verdict):
        return Equality.of([("outputs", second)])
    outputs = original.outputs
    comparison = Comparison(
        both.before,
        both.after,
        both.leaves,
        both.found.names,
        outputs.names,
        outputs.inexact,
        None,
        inputs=_outside_of_modules((args, kwargs)),
    )
    subject = Subject(both, original, comparison, abstract, files, Steps())
    checks, notes = _checked(subject, second, up_to)
    for program, first in ((both.before, original), (both.after, second)):
        if call_digest(trace(program, both.avals)) != call_digest(first):
            which = "first" if program is both.before else "second"
            raise ScanifyError(
                f"the {which} function does something else each time that it is called, so it cannot be compared; "
                "give it what it reads beside its arguments as an argument"
            )
    return Equality.of(checks, notes)


class _Files:
    """Returns the displayed name of a user's file, relative to the current directory; None for any other file."""

    def __init__(self) -> None:
        here = Path.cwd()
        self._project = Project((here,), (here,), here)

    def __call__(self, name: str) -> str | None:
        return self._project.display(name) if name.startswith("/") and not self._project.is_foreign(name) else None


def _pair(f: Function, g: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Pair, bool]:
    """Return both as functions of the arrays among the arguments; and whether one has a shape but no values."""
    given = jax.tree.map(lambda leaf: jnp.asarray(leaf) if _is_numeric(leaf) else leaf, (args, kwargs))
    leaves = [leaf for leaf in jax.tree.leaves(given) if is_traced(leaf)]
    abstract = any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
    found = correspond((None, *given), (None, *given))
    assert isinstance(found, Correspondence)  # with itself
    parameters = positional(f)
    found = Correspondence(tuple(named(each, parameters) for each in found.names), found.layers, found.recipes)
    first, second = (version(Built((_called(each), *given))) for each in (f, g))
    avals = tuple(struct(leaf) for leaf in leaves)
    return Pair(first, second, found, tuple(leaves), avals, tuple(range(len(leaves)))), abstract


def _is_numeric(leaf: Any) -> bool:
    """True for a NumPy array that jax has a dtype for."""
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind not in "OSUMmT" and leaf.dtype.names is None


def _outside_of_modules(given: Any) -> tuple[int, ...]:
    """Return the arguments' arrays that are not parameters: they are tested with values further off."""
    parts = jax.tree.leaves(given, is_leaf=lambda part: isinstance(part, eqx.Module))
    arrays = [
        (part, leaf)
        for part in parts
        for leaf in jax.tree.leaves(part)
        if is_traced(leaf) or isinstance(leaf, np.ndarray)
    ]
    inside = [isinstance(part, eqx.Module) for part, _ in arrays]
    return tuple(i for i, held in enumerate(inside) if not held)


def _called(function: Function) -> Function:
    """Wrap a function so that it is not a pytree: arrays that it contains are constants."""
    return lambda *args, **kwargs: function(*args, **kwargs)


def _checked(subject: Subject, traced: Traced, up_to: int) -> tuple[list[tuple[str, Verdict]], list[str]]:
    """Return the verdict of each check, and the omitted comparisons."""
    values = outputs(subject, traced, None)
    checks, notes = [("outputs", values)], []
    differ = "the outputs differ already" if values.status is Status.FAILED else ""
    programs = (subject.original.forward, traced.forward)
    derivatives = any(map(has_derivative_rules, programs))
    asked: list[tuple[str, Callable[[], Once]]] = [
        ("use of random keys", lambda: keys(subject, traced)),
        ("under vmap", lambda: batched(subject, differ, traced)),
    ]
    if up_to >= 1:
        asked.append(("gradients", lambda: _gradients(subject, traced, values)))
        asked.append(
            ("forward derivatives", lambda: tangents(subject, differ, traced.forward if derivatives else None))
        )
    if up_to >= 2:
        asked.append(("second derivatives", lambda: second_derivatives(subject, differ)))
    for what, ask in asked:
        once = ask()
        if once.verdict is not None:
            checks.append((what, once.verdict))
        if once.note:
            notes.append(once.note)
    return checks, notes


def _gradients(subject: Subject, traced: Traced, values: Verdict) -> Once:
    if subject.original.gradient is None:
        return Once(None, f"no gradients, as the first function raises {subject.original.raised}")
    found = gradients(subject, traced, None, values)
    if found.findings:
        return Once(Verdict(Status.FAILED, "; ".join(found.findings)))
    return Once(found.verdict, "; ".join(found.notes))
