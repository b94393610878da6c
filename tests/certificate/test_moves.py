"""The checker's arrays against NumPy: whatever is cut, turned, repeated, put together and reshaped."""

import random
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

from scanify.replay import moves
from scanify.replay.reshape import reshape
from scanify.replay.values import Atom, Values

Array = np.ndarray[Any, Any]
Made = tuple[int, Array]
PAD = np.int64(-5)


class Both:
    """Arrays of the checker beside those of NumPy."""

    def __init__(self, seed: int) -> None:
        self.rng, self.values = random.Random(seed), Values()
        self.inputs: dict[str, Array] = {}
        self.pool: list[Made] = []
        for name in "abc":
            shape = tuple(self.rng.choice([1, 2, 3, 4]) for _ in range(self.rng.randrange(1, 4)))
            self.inputs[name] = np.arange(prod(shape)).reshape(shape) + 1000 * ord(name)
            self.pool.append((self.values.atom(Atom("x", name, (), 0, shape, "int64")), self.inputs[name]))
        known = np.arange(6).reshape(2, 3)
        self.pool.append((self.values.const(known, "int64"), known))

    def evaluated(self, number: int) -> Array:
        """What the boxes of an array say; each element must be in one of them."""
        value = self.values[number]
        found, times = np.zeros(value.shape, np.int64), np.zeros(value.shape, int)
        for box, term in value.pieces:
            where = tuple(slice(*pair) for pair in box)
            times[where] += 1
            if term[0] == "is":
                found[where] = np.frombuffer(term[1], np.int64)[0]
                continue
            grid = np.indices([high - low for low, high in box])
            at = np.zeros([high - low for low, high in box], int) + term[2]
            for axis, (low, _), step in zip(grid, box, term[3], strict=True):
                at += (axis + low) * step
            found[where] = self.flat(term[1])[at]
        assert (times == 1).all()
        return found

    def flat(self, atom: int) -> Array:
        held = self.values.atoms[atom]
        if held.op == "x":
            return self.inputs[held.params].reshape(-1)
        return self.values.data[atom] if held.op == "const" else self.evaluated(held.operands[0]).reshape(-1)

    def alike(self, shape: tuple[int, ...], but: int | None = None) -> list[Made]:
        def without(given: tuple[int, ...]) -> tuple[int, ...]:
            return given if but is None else (*given[:but], *given[but + 1 :])

        return [each for each in self.pool if each[1].ndim == len(shape) and without(each[1].shape) == without(shape)]


def cut(both: Both, number: int, x: Array) -> Made:
    starts = [both.rng.randrange(size) for size in x.shape]
    stops = [both.rng.randrange(start + 1, size + 1) for start, size in zip(starts, x.shape, strict=True)]
    steps = [both.rng.choice([1, 1, 2]) for _ in x.shape]
    triples = zip(starts, stops, steps, strict=True)
    return moves.cut(both.values, number, starts, stops, steps), x[tuple(slice(*each) for each in triples)]


def reverse(both: Both, number: int, x: Array) -> Made:
    axes = [axis for axis in range(x.ndim) if both.rng.random() < 0.5]
    return moves.reverse(both.values, number, axes), np.flip(x, axes) if axes else x


def transpose(both: Both, number: int, x: Array) -> Made:
    order = both.rng.sample(range(x.ndim), x.ndim)
    return moves.transpose(both.values, number, order), x.transpose(order)


def broadcast(both: Both, number: int, x: Array) -> Made:
    shape = tuple(3 if size == 1 and both.rng.random() < 0.5 else size for size in x.shape)
    lead = (2,) if both.rng.random() < 0.5 else ()
    axes = range(len(lead), len(lead) + x.ndim)
    return moves.broadcast(both.values, number, (*lead, *shape), axes), np.broadcast_to(x, (*lead, *shape))


def concatenate(both: Both, number: int, x: Array) -> Made:
    axis = both.rng.randrange(x.ndim)
    parts = [*both.rng.choices(both.alike(x.shape, axis), k=2), (number, x)]
    arrays = [each for _, each in parts]
    return moves.concatenate(both.values, [each for each, _ in parts], axis), np.concatenate(arrays, axis)


def stack(both: Both, number: int, x: Array) -> Made:
    axis = both.rng.randrange(x.ndim + 1)
    parts = both.rng.choices(both.alike(x.shape), k=2)
    return moves.stack(both.values, [each for each, _ in parts], axis), np.stack([each for _, each in parts], axis)


def row(both: Both, number: int, x: Array) -> Made:
    axis = both.rng.randrange(x.ndim)
    index = both.rng.randrange(x.shape[axis])
    return moves.row(both.values, number, index, axis), np.take(x, index, axis)


def pad(both: Both, number: int, x: Array) -> Made | None:
    config = [(both.rng.choice([0, 1, -1]), both.rng.choice([0, 2, -1]), both.rng.choice([0, 0, 1])) for _ in x.shape]
    for axis, (low, high, between) in enumerate(config):
        size = x.shape[axis] + (x.shape[axis] - 1) * between
        if size + low + high < 1:
            return None
        spread = np.full((*x.shape[:axis], size, *x.shape[axis + 1 :]), PAD)
        spread[(*[slice(None)] * axis, slice(None, None, between + 1))] = x
        around = [(max(low, 0), max(high, 0)) if each == axis else (0, 0) for each in range(x.ndim)]
        wide = np.pad(spread, around, constant_values=PAD)
        stop = wide.shape[axis] - max(-high, 0)
        x = wide[(*[slice(None)] * axis, slice(max(-low, 0), stop))]
    found = moves.pad(both.values, number, ("is", PAD.tobytes()), config)
    return None if found is None else (found, x)


def put(both: Both, number: int, x: Array) -> Made:
    starts = [both.rng.randrange(size) for size in x.shape]
    sizes = [both.rng.randrange(1, size - start + 1) for start, size in zip(starts, x.shape, strict=True)]
    window = moves.reverse(both.values, moves.window(both.values, number, starts, sizes), range(x.ndim))
    where = tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
    expected = np.array(x)
    expected[where] = np.flip(x[where])
    return moves.put(both.values, number, window, starts), expected


def split(both: Both, number: int, x: Array) -> Made | None:
    axis = both.rng.randrange(x.ndim)
    if x.shape[axis] < 2:
        return None
    parts = moves.split(both.values, number, [1, x.shape[axis] - 1], axis)
    return parts[1], np.split(x, [1], axis)[1]


def tile(both: Both, number: int, x: Array) -> Made:
    copies = [both.rng.choice([1, 2]) for _ in x.shape]
    return moves.tile(both.values, number, copies), np.tile(x, copies)


def reshaped(both: Both, number: int, x: Array) -> Made:
    left, shape = x.size, []
    while left > 1:
        shape.append(both.rng.choice([size for size in range(2, left + 1) if left % size == 0]))
        left //= shape[-1]
    for _ in range(both.rng.randrange(2)):
        shape.insert(both.rng.randrange(len(shape) + 1), 1)
    return reshape(both.values, number, tuple(shape)), x.reshape(shape)


OPERATIONS: tuple[Callable[[Both, int, Array], Made | None], ...] = (
    *(cut, reverse, transpose, broadcast, concatenate, stack, row, pad, put, split, tile),
    *(reshaped, reshaped),
)


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_arrays_are_what_numpy_makes_of_them(start: int) -> None:
    spelled_alike = spelled_otherwise = 0
    for seed in range(start, start + 100):
        both = Both(seed)
        for _ in range(9):
            number, x = both.rng.choice([each for each in both.pool if each[1].ndim])
            made = both.rng.choice(OPERATIONS)(both, number, x)
            if made is None or made[1].size > 400:
                continue
            assert both.values[made[0]].shape == made[1].shape
            np.testing.assert_array_equal(both.evaluated(made[0]), made[1])
            same = [n for n, each in both.pool if each.shape == made[1].shape and np.array_equal(each, made[1])]
            spelled_alike += sum(n == made[0] for n in same)
            spelled_otherwise += sum(n != made[0] for n in same)
            both.pool.append((made[0], np.asarray(made[1])))
    assert spelled_otherwise * 50 <= spelled_alike  # a spelling that is not found makes proofs fail, and no wrong ones
