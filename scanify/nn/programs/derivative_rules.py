"""Compare the derivative rules of two calls of functions with custom rules.

jax keeps a rule in an equation as a function created for each trace, around the function passed to `jax.custom_jvp` or
`jax.custom_vjp`. Two rules are the same if those functions are, and the wrappers that jax adds:
`process_custom_jvp_call` in `jax/_src/interpreters/partial_eval.py`, jax 0.10 and 0.12.
"""

from collections.abc import Callable, Hashable
from typing import Any

import jax

from scanify.jaxpr.reading.canonical import NotUnderstood

# The captured variable of jax's function that holds the rule, by the parameter of the equation.
_HELD = {"jvp_jaxpr_fun": "jvp", "fwd_jaxpr_thunk": "fwd"}
_RULES = {"custom_jvp_call": ("jvp_jaxpr_fun",), "custom_vjp_call": ("fwd_jaxpr_thunk", "bwd")}
WITH_RULES = frozenset(_RULES)
# The parameters covered by `rule_key`. `out_trees` is the output tree of the primal function and of its rule.
RULES = ("jvp_jaxpr_fun", "fwd_jaxpr_thunk", "bwd", "out_trees")
_TREE = type(jax.tree.structure(0))


# The key of any object, as `Canonical.key` makes it.
Key = Callable[[Any], Hashable]


def rule_key(equation: Any, key: Key) -> Hashable:
    """Return a key that is equal only for the same rules; None without rules. `key` returns the key of their parts.

    Raises:
        NotUnderstood: jax keeps the rules in an unknown form.
    """
    names = _RULES.get(equation.primitive.name)
    if names is None:
        return None
    if not all(name in equation.params for name in names):
        raise NotUnderstood(f"the rules of {equation.primitive.name}")
    return tuple(_wrapped(_held(name, equation.params[name]), key) for name in names)


def _held(name: str, value: Any) -> Any:
    held = _HELD.get(name)
    if held is None:
        return value
    thunk = _captured(getattr(value, "f", value)).get("fn")
    rule = _captured(thunk).get(held)
    if rule is None:
        raise NotUnderstood(f"the rule in {name}")
    return rule


def _captured(function: Any) -> dict[str, Any]:
    cells = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars if cells else ()
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}


def _wrapped(rule: Any, key: Key) -> Hashable:
    """Return the key of a `WrappedFun`: a function and transformations `(function, arguments)` around it."""
    if not hasattr(rule, "transforms") or not hasattr(rule, "f"):
        return key(rule)
    around = tuple(
        (key(transform), tuple(_argument(one, key) for one in arguments)) for transform, arguments in rule.transforms
    )
    return (key(rule.f), around)


def _argument(value: Any, key: Key) -> Hashable:
    if isinstance(value, _TREE):
        return ("tree", value, str(value))
    if callable(value) and getattr(value, "__module__", "").startswith("jax._src"):
        # A callback of jax for the primal function (its output tree), which is compared separately.
        return ("jax", key(value.__code__) if hasattr(value, "__code__") else type(value).__name__)
    if type(value).__module__.startswith("jax._src") and type(value).__name__ == "Store":
        return "store"
    if isinstance(value, tuple | list):
        return tuple(_argument(one, key) for one in value)
    if type(value).__name__ == "ShapedArray":
        return str(value)
    return key(value)
