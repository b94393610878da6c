"""The kinds of steps: for each, the types, the attributes that a mutation may change, and how jax computes it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.soundness.programs import Kind, Program
from tests.soundness.spelling import ROWS, Spelling

# (spelling, operands, attributes, functions of the programs inside) -> value
Run = Callable[[Spelling, list[Any], tuple[Any, ...], list[Callable[..., Any]]], Any]

KINDS: dict[str, Kind] = {}
RUN: dict[str, Run] = {}

# Kinds that reverse mode does not go through, or whose effects it repeats.
FORWARD_ONLY = {"while_", "printed", "called", "pure", "inner_gradient"}
EFFECTS = {"printed", "called"}

UNARY = ("sin", "cos", "tanh", "neg", "abs", "floor", "sqrt", "sign", "is_finite")
BINARY = ("add", "sub", "mul", "max", "min", "div")
NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0)
ORDERS = ((0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2), (0, 0, 1, 2), (0, 1, 2), (2, 3), (3,))
INDICES = (0, 1, 2, 3)


def kind(types: str, *attrs: tuple[Any, ...], bodies: tuple[tuple[str, str], ...] = (), weight: int = 2) -> Any:
    """Registers a kind of step, `"mm m"`: the types of the operands and of the value."""
    args, out = types.split(" ")

    def register(run: Run) -> Run:
        KINDS[run.__name__] = Kind(args, out, attrs, bodies, weight)
        RUN[run.__name__] = run
        return run

    return register


def function(program: Program, spell: Spelling) -> Callable[..., tuple[Any, ...]]:
    """A program as a function of jax, in one spelling."""

    def run(*inputs: Any) -> tuple[Any, ...]:
        pool = list(inputs)
        for step in program.steps:
            bodies = [function(body, spell) for body in step.bodies]
            pool.append(RUN[step.kind](spell, [pool[arg] for arg in step.args], step.attrs, bodies))
        return tuple(pool[place] for place in program.results)

    return run


def op(name: str) -> Callable[..., Any]:
    if name == "is_finite":
        return lambda x: lax.convert_element_type(lax.is_finite(x), x.dtype)
    return getattr(lax, name)  # type: ignore[no-any-return]


# Arithmetic ---------------------------------------------------------------------------------------------------------


@kind("m m", UNARY, weight=4)
def unary(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    compute = op(attrs[0])
    return spell.pick(spell.wrapped(compute), jax.vmap(compute))(*args)


@kind("v v", UNARY)
def unary_row(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return spell.wrapped(op(attrs[0]))(*args)


@kind("mm m", BINARY, weight=5)
def binary(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return spell.wrapped(op(attrs[0]))(*args)


@kind("vv v", BINARY)
def binary_row(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return spell.wrapped(op(attrs[0]))(*args)


@kind("mv m", BINARY, weight=4)
def with_row(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    x, v = args
    wide = spell.pick(
        lambda: jnp.broadcast_to(v, x.shape), lambda: jnp.stack([v] * ROWS), lambda: jnp.tile(v, (ROWS, 1))
    )
    return op(attrs[0])(x, wide())


@kind("m m", ("add", "mul", "max", "sub"), NUMBERS, weight=3)
def with_number(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (x,), (name, number) = args, attrs
    full = spell.pick(
        lambda: jnp.full(x.shape, number, x.dtype),
        lambda: jnp.broadcast_to(jnp.asarray(number, x.dtype), x.shape),
        lambda: np.full(x.shape, number, x.dtype),
    )
    return op(name)(x, full())


@kind("m m", ("float16", "bfloat16", "int32", "float32"))
def rounded(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (x,) = args
    if attrs[0] == "int32":
        x = jnp.clip(jnp.where(jnp.isnan(x), 0.0, x), -100, 100)
    return spell.pick(
        lambda: x.astype(attrs[0]).astype(x.dtype),
        lambda: jnp.stack([r.astype(attrs[0]) for r in spell.rows(x)]).astype(x.dtype),
    )()


@kind("m m", (10, 23, 7))
def reduced_precision(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return lax.reduce_precision(args[0], 8, attrs[0])


@kind("m v", ("sum", "max", "min", "prod"), (False, True))
def reduced(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    x = args[0].T.reshape(args[0].shape) if attrs[1] else args[0]
    return getattr(jnp, attrs[0])(x, axis=0)


@kind("m m", ("cumsum", "cumprod", "cummax"), (0, 1), (False, True))
def accumulated(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return getattr(lax, attrs[0])(args[0], axis=attrs[1], reverse=attrs[2])


@kind("mm m", (0, 1), (1, 2))
def sorted_(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return lax.sort(tuple(args), dimension=attrs[0], num_keys=attrs[1])[1]


@kind("v v", (1, 2))
def largest(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (v,) = args
    top = lax.top_k(v, attrs[0])[0]
    return jnp.concatenate([top, v[attrs[0] :]])


@kind("mm m", (None, "highest"))
def product(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    x, y = args
    gram = spell.pick(lambda: lax.dot(x, y.T, precision=attrs[0]), lambda: lax.dot(y, x.T, precision=attrs[0]).T)()
    return spell.pick(
        lambda: lax.dot(gram, x), lambda: lax.dot(x.T, gram.T).T, lambda: jnp.einsum("ij,jk->ik", gram, x)
    )()


@kind("mm m", (0.0, 1.0), (False, True))
def selected(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    x, y = args
    cases = (y, x) if attrs[1] else (x, y)
    return spell.pick(lambda: jnp.where(x > attrs[0], *cases), lambda: lax.select_n(x > attrs[0], cases[1], cases[0]))()


# Moving elements ------------------------------------------------------------------------------------------------------


@kind("m v", INDICES, weight=4)
def row(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return spell.row(args[0], attrs[0])


@kind("mi v", ("clip", "fill", "wrap"))
def row_at(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return jnp.take(args[0], args[1], axis=0, mode=attrs[0])


@kind("vvvv m", weight=3)
def stacked(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return spell.stack(args)


@kind("m m", ((0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2), (0, 0, 2, 3), (0, 2, 1, 3)), weight=3)
def permuted(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (x,), (order,) = args, attrs
    return spell.pick(
        lambda: x[np.array(order)],
        lambda: jnp.take(x, jnp.array(order), axis=0),
        lambda: spell.stack([spell.row(x, i) for i in order]),
        lambda: jnp.concatenate([x[i : i + 1] for i in order]),
        lambda: lax.scan(lambda c, i: (c, x[i]), 0, jnp.array(order))[1],
    )()


@kind("m m", ((0,), (1,), (0, 1)))
def reversed_(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (x,), (axes,) = args, attrs
    ways = [lambda: lax.rev(x, axes), lambda: jnp.flip(x, axes)]
    if axes == (0,):
        ways += [lambda: x[::-1], lambda: spell.stack(spell.rows(x)[::-1])]
    return spell.pick(*ways)()


@kind("m m", ("turned", "reshaped", "chunks", "columns"))
def rearranged(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (x,) = args
    if attrs[0] == "turned":
        return x.T.reshape(x.shape)
    if attrs[0] == "reshaped":
        return x.reshape(3, 4).T
    if attrs[0] == "chunks":
        return jnp.swapaxes(x.reshape(2, 2, 3), 0, 1).reshape(x.shape)
    return jnp.concatenate([x[:, 1:], x[:, :1]], axis=1)


@kind("mv m", INDICES, ("set", "add", "max"), weight=3)
def put(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (x, v), (index, how) = args, attrs
    if how != "set":
        return getattr(x.at[index], how)(v)
    return spell.pick(
        lambda: x.at[index].set(v),
        lambda: lax.dynamic_update_index_in_dim(x, v, jnp.int32(index), 0),
        lambda: jnp.concatenate([x[:index], v[None], x[index + 1 :]]),
        lambda: jnp.stack([v if i == index else r for i, r in enumerate(spell.rows(x))]),
        lambda: x.at[index].set(7.0).at[index].set(v),
    )()


@kind("mvi m", ("set", "add", "mul"), ("drop", "clip"))
def put_at(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    x, v, index = args
    at = x.at[index]
    how = "multiply" if attrs[0] == "mul" else attrs[0]
    return getattr(at, how)(v, mode=attrs[1])


@kind("mv m", ("set", "add"), ((0, 1), (1, 0), (2, 2)))
def put_many(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    x, v = args
    return getattr(x.at[np.array(attrs[1])], attrs[0])(jnp.stack([v, v * 2]))


@kind("m m", (1, 2, -1), NUMBERS)
def shifted(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (x,), (by, number) = args, attrs
    gap = jnp.full((abs(by), x.shape[1]), number, x.dtype)
    joined = (lambda: jnp.concatenate([gap, x[:-by]])) if by > 0 else (lambda: jnp.concatenate([x[-by:], gap]))
    return spell.pick(joined, lambda: lax.pad(x, jnp.asarray(number, x.dtype), [(by, -by, 0), (0, 0, 0)]))()


@kind("v m")
def repeated(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (v,) = args
    return spell.pick(
        lambda: jnp.broadcast_to(v, (ROWS, *v.shape)),
        lambda: spell.stack([v] * ROWS),
        lambda: lax.scan(lambda c, _: (c, c), v, None, length=ROWS)[1],
    )()


# Operations as they are, so that a change of one parameter is a change of one equation -------------------------------------


@kind("m v", (-1, 0, 1, 2, 3, 4, 9), weight=2)
def sliced(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return lax.dynamic_slice_p.bind(args[0], np.int32(attrs[0]), np.int32(0), slice_sizes=(1, 3))[0]


@kind("mi v", (0, 1), weight=2)
def sliced_at(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return lax.dynamic_slice(args[0], (args[1], np.int32(attrs[0])), (1, 3))[0]


@kind("m m", (0, 1, 2), (0, 1, 2), (0, 1), NUMBERS)
def padded(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    low, high, between, number = attrs
    (x,) = args
    return lax.pad(x, jnp.asarray(number, x.dtype), [(low, high, between), (0, 0, 0)])[1:5]


@kind("m m", ((0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1), (2, 0, 1)), weight=2)
def transposed(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (x,) = args
    return lax.transpose(x.reshape(2, 2, 3), attrs[0]).reshape(x.shape)


@kind("m m", (0, 1, 2, 3), (1, 2, 3), weight=2)
def strided(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    (x,), (start, stride) = args, attrs
    return jnp.tile(lax.slice(x, (start, 0), (ROWS, 3), (stride, 1))[:1], (ROWS, 1)) + x


@kind("mm m", ((True, False, True, False), (False, True, True, False), (True, True, True, True)), weight=2)
def masked(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    """A choice by constants."""
    return lax.select_n(jnp.broadcast_to(jnp.asarray(attrs[0])[:, None], (ROWS, 3)), *args)


@kind("i i", ((True, False), (False, True)), (0, 1, 5), (2, 3))
def chosen(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    """Index arithmetic on constants."""
    which, one, other = attrs
    return args[0] + lax.select_n(jnp.asarray(which), *(np.full(2, n, np.int32) for n in (one, other)))[0]


@kind("m m", (5, 11, 8), (10, 23, 7))
def precision(spell: Spelling, args: list[Any], attrs: tuple[Any, ...], bodies: list[Any]) -> Any:
    return lax.reduce_precision(args[0], *attrs)
