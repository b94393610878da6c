"""Does a program hold functions whose derivatives or batching somebody wrote, and is not what jax makes of them?

Such a rule may ask what is differentiated or batched, and give something else for one argument alone than for all. A
rule of jax's own does not, and neither does an operation without a rule.
"""

from pathlib import Path
from typing import Any

import jax

from scanify.jaxpr.reading.calls import children, opened
from scanify.jaxpr.reading.primitives import is_own

_JAX = f"{Path(jax.__file__).parent}/"
# The parameter that holds a rule, by the primitive.
_RULES = {"custom_jvp_call": "jvp_jaxpr_fun", "custom_vjp_call": "fwd_jaxpr_thunk", "custom_vjp_call_jaxpr": "fwd"}


def has_derivative_rules(program: Any) -> bool:
    """Whether somebody wrote the derivative of a function in a `ClosedJaxpr`."""
    return _any(program, lambda equation: equation.primitive.name in _RULES and not _is_jaxs(equation))


def has_batching_rules(program: Any) -> bool:
    """Whether somebody wrote what a function in a `ClosedJaxpr` is under vmap."""
    return _any(program, lambda equation: equation.primitive.name.startswith("custom_vmap"))


def _any(program: Any, asked: Any) -> bool:
    waiting, seen = [program], set()
    while waiting:
        inner, _ = opened(waiting.pop())
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        for equation in inner.eqns:
            if asked(equation) or not is_own(equation.primitive):
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
