"""Find functions in a program whose derivative or batching rule was written by a user.

Such a rule may depend on which arguments are differentiated or batched, and return something else for one argument than
for all. Rules of jax and operations without a rule do not.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

from scanify.jaxpr.reading.calls import children, opened
from scanify.jaxpr.reading.primitives import is_own

_JAX = f"{Path(jax.__file__).parent}/"
# Files of jax whose functions apply a custom transpose or reverse derivative.
_WRITTEN_TRANSPOSES = frozenset({"custom_derivatives.py", "custom_transpose.py", "solves.py", "hijax.py"})
# The parameter that holds a rule, by primitive.
_RULES = {"custom_jvp_call": "jvp_jaxpr_fun", "custom_vjp_call": "fwd_jaxpr_thunk", "custom_vjp_call_jaxpr": "fwd"}


def has_derivative_rules(program: Any) -> bool:
    """True if a `ClosedJaxpr` contains a function with a custom derivative."""
    return _any(program, is_rule)


def is_rule(equation: Any) -> bool:
    """True for a call of a function with a custom derivative."""
    if not is_own(equation.primitive):
        return True
    return equation.primitive.name in _RULES and not _is_jaxs(equation)


def reads_zeros(part: Any) -> bool:
    """True if a rule in a `ClosedJaxpr` or of an equation may depend on which values are differentiated.

    It cannot if jax passes zeros for the others.
    """
    if hasattr(part, "primitive"):
        return is_rule(part) and bool(part.params.get("symbolic_zeros", True))
    return _any(part, reads_zeros)


def has_batching_rules(part: Any) -> bool:
    """True if a `ClosedJaxpr` or an equation contains a function with a custom batching rule."""
    if hasattr(part, "primitive"):
        return bool(part.primitive.name.startswith("custom_vmap"))
    return _any(part, has_batching_rules)


def foreign(program: Any) -> set[int]:
    """Return the primitives in a `ClosedJaxpr` that do not belong to jax; the batching rule of each never varies."""
    found: set[int] = set()

    def note(equation: Any) -> bool:
        found.update([] if is_own(equation.primitive) else [id(equation.primitive)])
        return False

    _any(program, note)
    return found


class Enclosing:
    """The current equation and the enclosing ones, outermost first."""

    def __init__(self) -> None:
        self._equations: list[Any] = []
        self._known: dict[int, tuple[Any, bool]] = {}

    @contextlib.contextmanager
    def __call__(self, equation: Any) -> Iterator[None]:
        """Make `equation` the current one."""
        self._equations.append(equation)
        try:
            yield
        finally:
            self._equations.pop()

    def in_written_rule(self, *, around: bool = False) -> bool:
        """True if a custom transpose computes this equation or an enclosing one; with `around`, only the latter."""
        return any(map(self._is_written, self._equations[:-1] if around else self._equations))

    def _is_written(self, equation: Any) -> bool:
        if id(equation) not in self._known:
            self._known[id(equation)] = equation, _is_of_written_rule(equation)
        return self._known[id(equation)][1]


def _is_of_written_rule(equation: Any) -> bool:
    """True if jax ran the equation in a backward rule. It has the traceback of the call that the rule belongs to."""
    traceback = equation.source_info.traceback
    for frame in () if traceback is None else traceback.frames:
        if not frame.file_name.startswith(_JAX):
            return False
        name = Path(frame.file_name).name
        if name in _WRITTEN_TRANSPOSES and not (name == "custom_derivatives.py" and "jvp" in frame.function_name):
            return True
    return False


def _any(program: Any, asked: Any) -> bool:
    waiting, seen = [program], set()
    while waiting:
        inner, _ = opened(waiting.pop())
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        for equation in inner.eqns:
            if asked(equation):
                return True
            waiting += children(equation)
    return False


def _is_jaxs(equation: Any) -> bool:
    """True if a function and its rule are both from files of jax."""
    called = equation.params.get("call_jaxpr")
    infos = [
        getattr(equation.params.get(_RULES[equation.primitive.name]), "debug_info", None),
        getattr(getattr(called, "jaxpr", called), "debug_info", None),
    ]
    places = [str(getattr(info, "func_src_info", "") or "").partition(" at ")[2] for info in infos]
    return all(place.startswith(_JAX) for place in places)
