"""The normal forms of what moves elements: random chains of moves, each checked by evaluating its node with numpy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanify.jaxpr.rules import views
from scanify.jaxpr.rules.combine import add_any, choose
from scanify.jaxpr.rules.move import put, row
from scanify.jaxpr.rules.reverse import reverse
from scanify.jaxpr.rules.shapes import full, unreshape
from scanify.jaxpr.table import Table

Array = np.ndarray[Any, Any]


def evaluate(table: Table, node: int, inputs: dict[int, Array]) -> Array:
    """What a node means, by numpy alone: the oracle of every rule."""
    op, params = table.op[node], table.params[node]
    values = [evaluate(table, below, inputs) for below in table.inputs[node]]
    shape = table.shape[node]
    if op == "input":
        return inputs[params]
    if op == "fill":
        return np.full(shape, table.fill_value(node))
    if op == "const":
        return table.arrays[node]
    if op == "reshape":
        return values[0].reshape(shape)
    if op == "slice":
        return values[0][tuple(slice(*pair) for pair in params)]
    if op == "transpose":
        return values[0].transpose(params)
    if op == "broadcast":
        wide = [1] * len(shape)
        for axis, place in enumerate(params):
            wide[place] = values[0].shape[axis]
        return np.broadcast_to(values[0].reshape(wide), shape)
    if op == "concat":
        return np.concatenate(values, params)
    if op == "rev":
        return np.flip(values[0], params)
    if op == "convert_element_type":
        return values[0].astype(table.dtype[node])
    if op == "cond":
        return values[1 + int(values[0])]
    assert op == "add_any", op
    return sum(values[1:], values[0])


# The number of the input that is the index of choices, and is 1.
INDEX = 2


def draw(data: Any, *options: Any) -> Any:
    return data.draw(st.sampled_from(options))


def moved(data: Any, table: Table, pool: list[tuple[int, Array]]) -> tuple[int, Array]:
    """One more value made from those in the pool, in the table and by numpy."""
    node, array = data.draw(st.sampled_from(pool))
    shape = array.shape
    move = draw(
        data,
        "reshape",
        "transpose",
        "slice",
        "row",
        "concat",
        "stack",
        "rev",
        "broadcast",
        "put",
        "sum",
        "zero",
        "choice",
    )
    if move == "reshape":
        new = draw(data, *factorings(array.size))
        return views.reshape(table, node, new), array.reshape(new)
    if move == "transpose":
        order = tuple(data.draw(st.permutations(range(array.ndim))))
        return views.transpose(table, node, order), array.transpose(order)
    if move in ("slice", "put"):
        box = []
        for size in shape:
            start = data.draw(st.integers(0, size - 1))
            box.append((start, data.draw(st.integers(start + 1, size))))
        index = tuple(slice(*pair) for pair in box)
        if move == "slice":
            return views.cut(table, node, tuple(box)), array[index]
        inner, part = views.cut(table, pool[0][0], full(pool[0][1].shape)), pool[0][1]
        new = array.copy()
        if not shape or part.size < new[index].size:
            return node, array
        part = part.reshape(-1)[: new[index].size].reshape(new[index].shape)
        flat = views.reshape(table, inner, (pool[0][1].size,))
        inner = views.reshape(table, views.cut(table, flat, ((0, part.size),)), part.shape)
        new[index] = part
        return put(table, node, inner, tuple(box)), new
    if move == "row" and array.ndim:
        axis = data.draw(st.integers(0, array.ndim - 1))
        index = data.draw(st.integers(0, shape[axis] - 1))
        return row(table, node, index, axis), np.take(array, index, axis)
    same = [pair for pair in pool if pair[1].shape == shape]
    if move in ("concat", "stack") and array.size <= 64:
        parts = [data.draw(st.sampled_from(same)) for _ in range(data.draw(st.integers(1, 3)))]
        axis = data.draw(st.integers(0, array.ndim - (move == "concat"))) if array.ndim else 0
        if move == "concat" and array.ndim:
            return views.concat(table, [n for n, _ in parts], axis), np.concatenate([a for _, a in parts], axis)
        wide = (*shape[:axis], 1, *shape[axis:])
        pieces = [views.reshape(table, n, wide) for n, _ in parts]
        return views.concat(table, pieces, axis), np.stack([a for _, a in parts], axis)
    if move == "rev" and array.ndim:
        axis = data.draw(st.integers(0, array.ndim - 1))
        return reverse(table, node, (axis,)), np.flip(array, axis)
    if move == "broadcast" and array.size <= 32:
        axis = data.draw(st.integers(0, array.ndim))
        wide = (*shape[:axis], 2, *shape[axis:])
        axes = [d for d in range(len(wide)) if d != axis]
        return views.broadcast(table, node, wide, axes), np.broadcast_to(np.expand_dims(array, axis), wide)
    if move == "zero":
        return table.zeros(shape, array.dtype), np.zeros(shape, array.dtype)
    other, second = data.draw(st.sampled_from(same))
    if move == "choice":
        return choose(table, INDEX, [node, other]), second
    return add_any(table, [node, other]), array + second


def factorings(size: int) -> list[tuple[int, ...]]:
    found = [(size,), (1, size), (size, 1)]
    for first in range(2, size):
        if size % first == 0:
            found += [(first, size // first), (first, 1, size // first)]
            rest = size // first
            found += [(first, second, rest // second) for second in range(2, rest) if rest % second == 0]
    return found if size > 1 else [(), (1,), (1, 1)]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_every_chain_of_moves_keeps_its_value(data: Any) -> None:
    table = Table()
    arrays = {0: np.arange(12.0).reshape(4, 3) + 0.5, 1: np.arange(24.0).reshape(2, 3, 4) - 7.0}
    pool = [(table.node("input", i, (), a.shape, a.dtype), a) for i, a in arrays.items()]
    arrays[INDEX] = np.array(1)
    assert table.node("input", INDEX, (), (), np.dtype("int32")) == INDEX
    pool.append((table.const(np.arange(6.0)), np.arange(6.0)))
    for _ in range(data.draw(st.integers(1, 8))):
        node, array = moved(data, table, pool)
        assert table.shape[node] == array.shape
        np.testing.assert_array_equal(evaluate(table, node, arrays), array)
        if array.size and array.size <= 96:
            pool.append((node, array))


@settings(max_examples=300, deadline=None)
@given(st.data())
@pytest.mark.whole
def test_a_box_of_a_reshape_is_found_in_what_was_reshaped_or_given_up(data: Any) -> None:
    old = draw(data, (12,), (4, 3), (2, 2, 3), (2, 6), (1, 12), (3, 4, 2), (24,))
    size = int(np.prod(old))
    new = draw(data, *factorings(size))
    box = []
    for length in new:
        start = data.draw(st.integers(0, length - 1))
        box.append((start, data.draw(st.integers(start + 1, length))))
    numbers = np.arange(size).reshape(old)
    wanted = numbers.reshape(new)[tuple(slice(*pair) for pair in box)]
    found = unreshape(tuple(box), old, new)
    if found is not None:
        np.testing.assert_array_equal(numbers[tuple(slice(*pair) for pair in found)].reshape(-1), wanted.reshape(-1))


def test_rows_of_chunks_are_found() -> None:
    assert unreshape(((1, 2), (0, 2), (0, 3)), (4, 3), (2, 2, 3)) == ((2, 4), (0, 3))
    assert unreshape(((1, 2), (1, 2), (0, 3)), (4, 3), (2, 2, 3)) == ((3, 4), (0, 3))
    assert unreshape(((2, 4), (0, 3)), (2, 2, 3), (4, 3)) == ((1, 2), (0, 2), (0, 3))
    assert unreshape(((1, 3), (0, 3)), (2, 2, 3), (4, 3)) is None


@pytest.mark.parametrize("shape", [(4, 3), (4, 1, 3), (1, 4, 3)])
def test_rows_put_together_again_are_the_array_itself(shape: tuple[int, ...]) -> None:
    table = Table()
    node = table.node("input", 0, (), shape, np.dtype("float32"))
    axis = shape.index(4)
    rows = [row(table, node, i, axis) for i in range(4)]
    lifted = [views.reshape(table, r, (*table.shape[r][:axis], 1, *table.shape[r][axis:])) for r in rows]
    assert views.concat(table, lifted, axis) == node
    assert views.concat(table, lifted[::-1], axis) != node
    assert views.concat(table, [lifted[0], lifted[0], *lifted[2:]], axis) != node


def test_sums_of_cotangents_forget_order_and_zeros_and_nothing_else() -> None:
    table = Table()
    kind = np.dtype("float32")
    a, b, c = (table.node("input", i, (), (3,), kind) for i in range(3))
    assert add_any(table, [add_any(table, [a, b]), c]) == add_any(table, [a, add_any(table, [c, b])])
    assert add_any(table, [a, table.zeros((3,), kind)]) == a
    assert add_any(table, [a, a]) != a and add_any(table, [a, a]) != add_any(table, [a, a, a])
    assert add_any(table, [a, table.fill(np.float32(-0.0), (3,))]) != a
    assert add_any(table, [a, table.fill(np.float32(1.0), (3,))]) != a
