"""`equinox.error_if`: two traces of a program hold the same check, whose callbacks each keep the stack of their trace."""

import types
from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading import canonical, equinox_errors
from scanify.verify.proof.prove import Proof, prove

V = jnp.arange(4.0)
OUT = jax.ShapeDtypeStruct((4,), jnp.float32)

Function = Callable[[Any], Any]


def traced(function: Function) -> ClosedJaxpr:
    """Traced anew: jax would find the program of the first trace, callbacks and all."""
    jax.clear_caches()
    return jax.make_jaxpr(lambda v: function(v))(V)


def compared(one: Function, other: Function) -> Proof:
    return prove(traced(one), traced(other))


def checked(v: Any) -> Any:
    return eqx.error_if(v, jnp.any(v > 9), "too large") * 2


def branched(v: Any, messages: tuple[str, ...] = ("low", "high")) -> Any:
    return eqx.internal.branched_error_if(v, jnp.any(v > 9), (v[0] > 0).astype(int), messages) * 2


def layers(v: Any) -> Any:
    for _ in range(3):
        v = checked(jnp.sin(v))
    return v


def scanned(v: Any) -> Any:
    return jax.lax.scan(lambda c, _: (checked(jnp.sin(c)), None), v, length=3)[0]


def test_a_check_traced_twice_is_proved_forward_and_in_the_gradient() -> None:
    assert compared(checked, checked).proved
    assert compared(branched, branched).proved
    assert compared(layers, scanned).proved
    grads = [lambda v, f=f: jax.vjp(f, v)[1](v)[0] for f in (layers, scanned)]
    assert prove(*map(traced, grads), cotangents=1).proved


NEAR_MISSES: dict[str, tuple[Function, Function]] = {
    "another message": (checked, lambda v: eqx.error_if(v, jnp.any(v > 9), "too big") * 2),
    "another predicate": (checked, lambda v: eqx.error_if(v, jnp.any(v > 8), "too large") * 2),
    "another value": (checked, lambda v: eqx.error_if(v + 1, jnp.any(v > 9), "too large") * 2),
    "no check": (checked, lambda v: v * 2),
    "another mode": (checked, lambda v: eqx.error_if(v, jnp.any(v > 9), "too large", on_error="nan") * 2),
    "messages in another order": (branched, lambda v: branched(v, ("high", "low"))),
    "a check in one layer less": (layers, lambda v: checked(jnp.sin(checked(jnp.sin(jnp.sin(v) * 2))))),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_another_check_is_not_proved(name: str) -> None:
    one, other = NEAR_MISSES[name]
    assert compared(one, one).proved and compared(other, other).proved
    assert not compared(one, other).proved


def keeping(stack: list[Any]) -> Function:
    """A callback of the user's own that keeps a list, as those of equinox do."""

    def raises(value: Any) -> Any:
        stack.append(value)
        return value

    return lambda v: jax.pure_callback(raises, OUT, v)


@cache
def _renamed(code: types.CodeType) -> types.CodeType:
    return code.replace(co_qualname="_error.<locals>.raises")


def disguised(v: Any) -> Any:
    """Other code under the name and in the globals of equinox's own."""
    msgs, stack = ["too large"], [1]

    def raises(value: Any) -> Any:
        return value * len(msgs) * stack[0]

    made = types.FunctionType(_renamed(raises.__code__), vars(eqx._errors), "raises", None, raises.__closure__)
    return jax.pure_callback(made, OUT, v)


@pytest.mark.parametrize("function", [lambda v: keeping([])(v), disguised], ids=["a list", "a disguise"])
def test_a_callback_that_is_not_of_equinox_is_itself_alone(function: Function) -> None:
    assert not compared(function, function).proved


def test_a_stack_that_is_used_for_more_than_to_be_shown_is_looked_at() -> None:
    def raises(stack: Any, msgs: Any) -> types.CodeType:
        return (lambda index: (msgs, stack, stack)).__code__

    assert not equinox_errors._only_shown(raises(0, 0))


def test_messages_that_are_forgotten_prove_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = equinox_errors.messages
    monkeypatch.setattr(canonical, "messages", lambda function: None if found(function) is None else ())
    assert compared(*NEAR_MISSES["another message"]).proved


def test_code_that_is_not_compared_proves_a_disguise(monkeypatch: pytest.MonkeyPatch) -> None:
    class Every:
        def __contains__(self, code: Any) -> bool:
            return True

    monkeypatch.setattr(equinox_errors, "_compiled", lambda module: Every())
    assert compared(disguised, disguised).proved
