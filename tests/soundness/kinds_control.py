"""Kinds of steps with programs inside them, with effects, with keys, and with derivatives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback

from tests.soundness.kinds import BINARY, ORDERS, kind, op
from tests.soundness.spelling import Spelling

# What callbacks have seen, in order: part of what a program answers.
LOG: list[tuple[str, Any]] = []

ALL = ORDERS[0]


# Loops ----------------------------------------------------------------------------------------------------------------


@kind("mm m", ORDERS, bodies=(("mv", "m"),), weight=6)
def folded(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    carry, rows = args
    return spell.fold(lambda c, r: (bodies[0](c, r)[0], None), carry, rows, attrs[0])[0]


@kind("vm m", (ALL, ORDERS[1], ORDERS[2]), bodies=(("vv", "vv"),), weight=6)
def collected(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    carry, rows = args
    return spell.stack(spell.fold(lambda c, r: bodies[0](c, r), carry, rows, attrs[0])[1])


@kind("mm m", (1, 2, 3), bodies=(("mm", "m"),), weight=2)
def repeated_body(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    """A loop that counts: the literal of a Python loop, or what `fori_loop` counts."""
    x, y = args
    times = attrs[0]

    def step(index: Any, c: Any) -> Any:
        return bodies[0](c, y)[0] + jnp.asarray(index, c.dtype)

    def in_python() -> Any:
        c = x
        for index in range(times):
            c = step(index, c)
        return c

    return spell.pick(
        in_python,
        lambda: lax.fori_loop(0, times, step, x),
        lambda: lax.scan(lambda c, i: (step(i, c), None), x, jnp.arange(times))[0],
    )()


@kind("mi m", (1, 2), (False, True), bodies=(("m", "m"),))
def while_(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    x, n = args
    body = spell.wrapped(bodies[0])
    most = jnp.clip(n, 0, 3) if attrs[1] else jnp.minimum(jnp.abs(n), 2)

    def step(c: tuple[Any, Any]) -> tuple[Any, Any]:
        return c[0] + attrs[0], body(c[1])[0]

    return lax.while_loop(lambda c: c[0] < most, step, (jnp.int32(0), x))[1]


@kind("mm m", (False, True), (1, 2), bodies=(("mv", "m"),), weight=3)
def scanned(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    """A scan as it is."""
    reverse, unroll = attrs[0], spell.pick(1, attrs[1])
    return lax.scan(lambda c, r: (bodies[0](c, r)[0], None), args[0], args[1], reverse=reverse, unroll=unroll)[0]


@kind("mm m", (False, True), bodies=(("mv", "mv"),), weight=3)
def scanned_rows(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return lax.scan(lambda c, r: bodies[0](c, r), args[0], args[1], reverse=attrs[0])[1]


# Choices --------------------------------------------------------------------------------------------------------------


@kind("mmi m", (-1, 0, 1), bodies=(("mm", "m"), ("mm", "m")), weight=3)
def branched(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    x, y, n = args
    yes, no = (spell.wrapped(lambda a, b, f=f: f(a, b)[0]) for f in bodies)
    which = n > attrs[0]
    return spell.pick(
        lambda: lax.cond(which, yes, no, x, y),
        lambda: lax.cond(which, lambda a: yes(a, y), lambda a: no(a, y), x),
        lambda: lax.switch(which.astype(jnp.int32), [no, yes], x, y),
    )()


@kind("mm m", (0, 1, 2, 5, -3), bodies=(("mm", "m"), ("mm", "m"), ("mm", "m")))
def branch_known(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    x, y = args
    functions = [lambda a, b, f=f: f(a, b)[0] for f in bodies]
    taken = min(max(attrs[0], 0), 2)
    return spell.pick(
        lambda: functions[taken](x, y), lambda: lax.switch(jnp.asarray(np.int32(attrs[0])), functions, x, y)
    )()


@kind("mm m", bodies=(("mm", "m"),), weight=2)
def call(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return spell.wrapped(lambda a, b: bodies[0](a, b)[0])(*args)


# Integers -------------------------------------------------------------------------------------------------------------


@kind("i i", ("add", "mul", "sub", "max", "min", "bitwise_xor", "rem"), (0, 1, -1, 3, 2**31 - 1, -(2**31)), weight=3)
def integer(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return op(attrs[0])(args[0], np.int32(attrs[1]))


@kind(" i", (0, 1, 2, 3, -1, 4, 2**31 - 1), weight=2)
def integer_known(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    n = attrs[0]
    return spell.pick(
        lambda: jnp.int32(n), lambda: lax.sub(lax.add(np.int32(n), np.int32(5)), np.int32(5)) * jnp.int32(1)
    )()


# Keys -----------------------------------------------------------------------------------------------------------------


@kind("k v", ("normal", "uniform", "bernoulli"), weight=2)
def drawn(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    draw = getattr(jax.random, attrs[0])
    return spell.wrapped(lambda key: draw(key, shape=(3,)))(*args).astype(float)


@kind("k k", (2, 3, 4), (0, 1), weight=2)
def split(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    keys = jax.random.split(args[0], attrs[0])
    return spell.pick(lambda: keys[attrs[1]], lambda: list(keys)[attrs[1]], lambda: jnp.take(keys, attrs[1], axis=0))()


@kind("k k", (0, 1, 2))
def folded_in(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return jax.random.fold_in(args[0], attrs[0])


@kind("mk m", ((0, 1, 2, 3), (1, 0, 2, 3), (0, 0, 1, 2)), bodies=(("mk", "m"),), weight=4)
def with_keys(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    """A layer stack with a key for each layer."""
    x, key = args
    keys = jax.random.split(key, 4)
    return spell.fold(lambda c, k: (bodies[0](c, k)[0], None), x, keys, attrs[0])[0]


# Effects and functions of Python ------------------------------------------------------------------------------------------


def _logging(name: str) -> Callable[..., Any]:
    def log(value: Any) -> Any:
        LOG.append((name, np.array(value)))
        return np.asarray(value)

    return log


LOGGERS = {name: _logging(name) for name in "ab"}


@kind("v v", ("a", "b"), (False, True))
def called(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (v,) = args
    return io_callback(LOGGERS[attrs[0]], jax.ShapeDtypeStruct(v.shape, v.dtype), v, ordered=attrs[1])


@kind("m m", ("a", "b"))
def printed(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    jax.debug.callback(LOGGERS[attrs[0]], args[0][0])
    return args[0]


def _scaling(number: float) -> Callable[..., Any]:
    def scale(value: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(value) * np.asarray(number, value.dtype)

    return scale


@kind("v v", (1.0, 2.0, -0.0, 0.0))
def pure(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (v,) = args
    return jax.pure_callback(_scaling(attrs[0]), jax.ShapeDtypeStruct(v.shape, v.dtype), v)


# Derivatives ----------------------------------------------------------------------------------------------------------


def _custom(scale: float, name: str) -> Callable[..., Any]:
    @jax.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return op(name)(jnp.sin(x), y)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return f(*primals), jnp.cos(primals[0]) * tangents[0] * scale + tangents[1]

    return f


def _custom_vjp(scale: float, name: str) -> Callable[..., Any]:
    @jax.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return op(name)(jnp.sin(x), y)

    f.defvjp(lambda x, y: (f(x, y), x), lambda x, ct: (ct * jnp.cos(x) * scale, ct))
    return f


@kind("mm m", (1.0, 0.5), BINARY[:4], weight=2)
def own_jvp(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return spell.pick(_custom(*attrs), jax.jit(_custom(*attrs)))(*args)


@kind("mm m", (1.0, 0.5), BINARY[:4], weight=2)
def own_vjp(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return spell.pick(_custom_vjp(*attrs), jax.jit(_custom_vjp(*attrs)))(*args)


@kind("mm m", (0, 1), bodies=(("mm", "m"),), weight=2)
def inner_gradient(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    """A gradient inside the program, of which one part is used."""
    x, y = args
    out, pull = jax.vjp(lambda a, b: bodies[0](a, b)[0], x, y)
    return pull(jnp.ones_like(out))[attrs[0]]
