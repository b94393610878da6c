"""Stacks taken apart and put together in every way that jnp offers: proved equal to the plain scan, with gradients.

The near miss of each way takes the next row, or has two rows in the other's place.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scanify.verify.proof.prove import prove

N, D = 4, 3
X = jnp.asarray(np.random.default_rng(0).normal(size=D).astype(np.float32))
WS = jnp.asarray(np.random.default_rng(1).normal(size=(N, D)).astype(np.float32))

APART: dict[str, Callable[[Any, int], Any]] = {
    "x[i]": lambda ws, i: ws[i],
    "x[i - n]": lambda ws, i: ws[i - N],
    "x[i:i+1]": lambda ws, i: ws[i : i + 1].reshape(D),
    "x[i, :]": lambda ws, i: ws[i, :],
    "x[array]": lambda ws, i: ws[jnp.asarray(i)],
    "x[[i]]": lambda ws, i: ws[np.array([i])][0],
    "x[..., i]": lambda ws, i: jnp.moveaxis(ws, 0, -1)[..., i],
    "x.T[:, i]": lambda ws, i: ws.T[:, i],
    "at.get": lambda ws, i: ws.at[i].get(),
    "at.get with a mode": lambda ws, i: ws.at[jnp.int32(i)].get(mode="fill", fill_value=0.0),
    "take": lambda ws, i: jnp.take(ws, i, axis=0),
    "take with a mode": lambda ws, i: jnp.take(ws, jnp.int32(i), axis=0, mode="clip"),
    "take_along_axis": lambda ws, i: jnp.take_along_axis(ws, jnp.full((1, D), i), axis=0)[0],
    "index_in_dim": lambda ws, i: lax.index_in_dim(ws, i, keepdims=False),
    "dynamic_index_in_dim": lambda ws, i: lax.dynamic_index_in_dim(ws, i, keepdims=False),
    "dynamic_slice": lambda ws, i: lax.dynamic_slice(ws, (i, 0), (1, D))[0],
    "slice_in_dim": lambda ws, i: lax.slice_in_dim(ws, i, i + 1)[0],
    "slice": lambda ws, i: lax.slice(ws, (i, 0), (i + 1, D)).squeeze(0),
    "split": lambda ws, i: jnp.split(ws, N)[i][0],
    "array_split": lambda ws, i: jnp.array_split(ws, 3)[0 if i < 2 else i - 1][i if i < 2 else 0],
    "unstack": lambda ws, i: jnp.unstack(ws)[i],
    "unstack along another axis": lambda ws, i: jnp.unstack(ws.T, axis=1)[i],
    "iteration": lambda ws, i: list(ws)[i],
    "vsplit": lambda ws, i: jnp.vsplit(ws, N)[i].ravel(),
    "chunks": lambda ws, i: ws.reshape(2, 2, D)[i // 2, i % 2],
    "flip": lambda ws, i: jnp.flip(ws, 0)[N - 1 - i],
    "roll": lambda ws, i: jnp.roll(ws, -i, axis=0)[0],
    "rows of a cast": lambda ws, i: ws.astype(jnp.float32)[i],
    "ravel": lambda ws, i: ws.ravel()[i * D : (i + 1) * D],
    "swapaxes": lambda ws, i: jnp.swapaxes(ws, 0, 1)[:, i],
    "expand_dims": lambda ws, i: jnp.expand_dims(ws, (0, 2))[0, i, 0],
    "strided": lambda ws, i: ws[i::N][0],
    "delete": lambda ws, i: jnp.delete(ws, np.array([k for k in range(N) if k != i]), axis=0)[0],
    "vmap": lambda ws, i: jax.vmap(lambda column: column[i], in_axes=1)(ws),
    "pad": lambda ws, i: jnp.pad(ws, ((2, 1), (0, 0)))[i + 2],
    "mask": lambda ws, i: ws[np.arange(N) == i][0],
    "choose from a list": lambda ws, i: jnp.stack([ws[1], ws[0], ws[3], ws[2]])[[1, 0, 3, 2][i]],
}


def _each(start: Any, put: Callable[[Any, int, Any], Any]) -> Callable[[list[Any]], Any]:
    def together(rows: list[Any]) -> Any:
        out = start
        for index, row in enumerate(rows):
            out = put(out, index, row)
        return out

    return together


ZEROS = np.zeros((N, D), np.float32)

TOGETHER: dict[str, Callable[[list[Any]], Any]] = {
    "stack": jnp.stack,
    "stack along the last axis": lambda rows: jnp.moveaxis(jnp.stack(rows, -1), -1, 0),
    "concatenate": lambda rows: jnp.concatenate([row[None] for row in rows]),
    "concatenate of flat rows": lambda rows: jnp.concatenate(rows).reshape(N, D),
    "vstack": jnp.vstack,
    "hstack": lambda rows: jnp.hstack(rows).reshape(N, D),
    "column_stack": lambda rows: jnp.column_stack(rows).T,
    "dstack": lambda rows: jnp.dstack(rows)[0].T,
    "array": jnp.array,
    "asarray": jnp.asarray,
    "append": lambda rows: jnp.append(jnp.stack(rows[:-1]), rows[-1][None], axis=0),
    "block": lambda rows: jnp.block([[row[None]] for row in rows]),
    "at.set": _each(ZEROS, lambda out, i, row: jnp.asarray(out).at[i].set(row)),
    "at.set backwards": lambda rows: _each(ZEROS, lambda out, i, r: jnp.asarray(out).at[N - 1 - i].set(r))(rows[::-1]),
    "at.set of ones": _each(ZEROS + 1, lambda out, i, row: jnp.asarray(out).at[i].set(row)),
    "at.set with a mode": _each(ZEROS, lambda out, i, row: jnp.asarray(out).at[jnp.int32(i)].set(row, mode="drop")),
    "at.set of a slice": _each(ZEROS, lambda out, i, row: jnp.asarray(out).at[i : i + 1].set(row[None])),
    "at.set of columns": lambda rows: _each(ZEROS.T, lambda out, i, r: jnp.asarray(out).at[:, i].set(r))(rows).T,
    "dynamic_update_slice": _each(ZEROS, lambda out, i, row: lax.dynamic_update_slice(out, row[None], (i, 0))),
    "dynamic_update_index": _each(ZEROS, lambda out, i, row: lax.dynamic_update_index_in_dim(out, row, i, 0)),
    "chunks": lambda rows: jnp.stack([jnp.stack(rows[:2]), jnp.stack(rows[2:])]).reshape(N, D),
    "tree map": lambda rows: jax.tree.map(lambda *xs: jnp.stack(xs), *rows),
    "flip": lambda rows: jnp.flip(jnp.stack(rows[::-1]), 0),
    "ys of a scan": lambda rows: lax.scan(lambda c, row: (c, row), 0, jnp.stack(rows))[1],
    "map": lambda rows: lax.map(lambda row: row, jnp.stack(rows)),
    "empty": _each(None, lambda out, i, row: (jnp.empty((N, D)) if out is None else out).at[i].set(row)),
    "vmap": lambda rows: jax.vmap(lambda *each: jnp.stack(each), in_axes=0, out_axes=1)(*rows),
}


def body(x: Any, w: Any) -> Any:
    return jnp.tanh(x * w) + w


def scan(x: Any, ws: Any) -> Any:
    return lax.scan(lambda c, w: (body(c, w), None), x, ws)[0]


def loop(x: Any, rows: list[Any]) -> Any:
    for row in rows:
        x = body(x, row)
    return x


def equal(before: Any, after: Any, arguments: tuple[Any, ...], gradients: bool) -> bool:
    def whole(function: Any) -> Any:
        return (
            (lambda *args: jax.vjp(function, *args[:-1])[1](args[-1]))
            if gradients
            else lambda *args: function(*args[:-1])
        )

    traced = [jax.make_jaxpr(whole(function))(*arguments, X) for function in (before, after)]
    return prove(*traced, cotangents=1 if gradients else 0).proved


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("gradients", [False, True], ids=["outputs", "gradients"])
def test_rows_taken_apart_in_a_loop_are_those_a_scan_reads(name: str, gradients: bool) -> None:
    row = APART[name]
    for index in range(N):
        np.testing.assert_array_equal(row(WS, index), WS[index])
    assert equal(lambda x, ws: loop(x, [row(ws, i) for i in range(N)]), scan, (X, WS), gradients)
    assert not equal(lambda x, ws: loop(x, [row(ws, (i + 1) % N) for i in range(N)]), scan, (X, WS), gradients)


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("gradients", [False, True], ids=["outputs", "gradients"])
def test_rows_put_together_are_those_of_the_loop(name: str, gradients: bool) -> None:
    together = TOGETHER[name]
    rows = list(WS)
    np.testing.assert_array_equal(together(rows), WS)
    arguments = (X, *rows)
    before = lambda x, *rows: loop(x, list(rows))  # noqa: E731
    assert equal(before, lambda x, *rows: scan(x, together(list(rows))), arguments, gradients)
    wrong = lambda x, a, b, *rows: scan(x, together([b, a, *rows]))  # noqa: E731
    assert not equal(before, wrong, arguments, gradients)


SCANS: dict[str, Callable[[Any, Any], Any]] = {
    "index": lambda x, ws: lax.scan(lambda c, i: (body(c, ws[i]), None), x, jnp.arange(N))[0],
    "dynamic index": lambda x, ws: lax.scan(
        lambda c, i: (body(c, lax.dynamic_index_in_dim(ws, i, keepdims=False)), None), x, jnp.arange(N)
    )[0],
    "take": lambda x, ws: lax.scan(lambda c, i: (body(c, jnp.take(ws, i, axis=0)), None), x, jnp.arange(N))[0],
    "counter": lambda x, ws: lax.fori_loop(0, N, lambda i, c: body(c, ws[i]), x),
    "counter in the carry": lambda x, ws: lax.scan(
        lambda c, _: ((body(c[0], ws[c[1]]), c[1] + 1), None), (x, 0), None, length=N
    )[0][0],
    "index of chunks": lambda x, ws: lax.scan(
        lambda c, i: lax.scan(lambda d, j: (body(d, ws[i * 2 + j]), None), c, jnp.arange(2)), x, jnp.arange(2)
    )[0],
    "remat of an index": lambda x, ws: lax.scan(jax.checkpoint(lambda c, i: (body(c, ws[i]), None)), x, jnp.arange(N))[
        0
    ],
    "nested remat": lambda x, ws: lax.scan(
        jax.checkpoint(lambda c, rows: lax.scan(jax.checkpoint(lambda d, w: (body(d, w), None)), c, rows)),
        x,
        ws.reshape(2, 2, D),
    )[0],
    "reversed": lambda x, ws: lax.scan(lambda c, w: (body(c, w), None), x, ws[::-1], reverse=True)[0],
    "carried stack": lambda x, ws: lax.scan(
        lambda c, _: ((body(c[0], c[1][0]), jnp.roll(c[1], -1, 0)), None), (x, ws), None, length=N
    )[0][0],
}


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("gradients", [False, True], ids=["outputs", "gradients"])
def test_cotangents_of_scanned_and_indexed_stacks_are_those_of_the_loop(name: str, gradients: bool) -> None:
    before = lambda x, ws: loop(x, [ws[i] for i in range(N)])  # noqa: E731
    np.testing.assert_allclose(SCANS[name](X, WS), before(X, WS), rtol=1e-6)
    assert equal(before, SCANS[name], (X, WS), gradients)
    assert not equal(before, lambda x, ws: SCANS[name](x, ws[::-1]), (X, WS), gradients)
