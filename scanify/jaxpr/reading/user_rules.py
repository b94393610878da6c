"""Does a program hold functions whose derivatives or batching somebody wrote, and is not what jax makes of them?

Such a rule may ask what is differentiated or batched, and give something else for one argument alone than for all. A
rule of jax's own does not, and neither does an operation without a rule.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

from scanify.jaxpr.reading.calls import children, opened
from scanify.jaxpr.reading.primitives import is_own

_JAX = f"{Path(jax.__file__).parent}/"
# Files of jax whose functions take a transpose or a reverse derivative that somebody wrote.
_WRITTEN_TRANSPOSES = frozenset({"custom_derivatives.py", "custom_transpose.py", "solves.py", "hijax.py"})
# The parameter that holds a rule, by the primitive.
_RULES = {"custom_jvp_call": "jvp_jaxpr_fun", "custom_vjp_call": "fwd_jaxpr_thunk", "custom_vjp_call_jaxpr": "fwd"}


def has_derivative_rules(program: Any) -> bool:
    """True if somebody wrote the derivative of a function in a `ClosedJaxpr`."""
    return _any(program, is_rule)


def is_rule(equation: Any) -> bool:
    """True for a call of a function whose derivative somebody wrote."""
    if not is_own(equation.primitive):
        return True
    return equation.primitive.name in _RULES and not _is_jaxs(equation)


def reads_zeros(part: Any) -> bool:
    """True if a rule in a `ClosedJaxpr`, or of an equation, may read what is differentiated and what is not.

    A rule that jax gives zeros for all of that cannot.
    """
    if hasattr(part, "primitive"):
        return is_rule(part) and bool(part.params.get("symbolic_zeros", True))
    return _any(part, reads_zeros)


def has_batching_rules(part: Any) -> bool:
    """True if somebody wrote what a function in a `ClosedJaxpr`, or that of an equation, is under vmap."""
    if hasattr(part, "primitive"):
        return bool(part.primitive.name.startswith("custom_vmap"))
    return _any(part, has_batching_rules)


def foreign(program: Any) -> set[int]:
    """The primitives in a `ClosedJaxpr` that are not of jax. What one is under vmap is the same in every program."""
    found: set[int] = set()

    def note(equation: Any) -> bool:
        found.update([] if is_own(equation.primitive) else [id(equation.primitive)])
        return False

    _any(program, note)
    return found


class Enclosing:
    """The equation that is being read and those around it, outermost first."""

    def __init__(self) -> None:
        self._equations: list[Any] = []
        self._known: dict[int, tuple[Any, bool]] = {}

    @contextlib.contextmanager
    def __call__(self, equation: Any) -> Iterator[None]:
        """Inside, `equation` is being read."""
        self._equations.append(equation)
        try:
            yield
        finally:
            self._equations.pop()

    def in_written_rule(self, *, around: bool = False) -> bool:
        """True if somebody wrote the transpose that computes this equation, or, `around`, one that holds it."""
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
    """Whether both a function and its rule are from files of jax."""
    called = equation.params.get("call_jaxpr")
    infos = [
        getattr(equation.params.get(_RULES[equation.primitive.name]), "debug_info", None),
        getattr(getattr(called, "jaxpr", called), "debug_info", None),
    ]
    places = [str(getattr(info, "func_src_info", "") or "").partition(" at ")[2] for info in infos]
    return all(place.startswith(_JAX) for place in places)
