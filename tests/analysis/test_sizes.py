"""Sizes of layers that are listed: which of them are shown to repeat, and which to differ from layer to layer."""

import pytest
from helpers import PRELUDE, only

from scanify.analysis.plan import Plan, Refusal

HEAD = PRELUDE.partition("class Model")[0]
NET = """\
class Layer(eqx.Module):
    linear: eqx.nn.Linear
    activation: object

    def __init__(self, before, after, activation=None, *, key):
        self.linear = eqx.nn.Linear(before, after, key=key)
        self.activation = activation

    def __call__(self, x):
        return self.linear(x)


class Net(eqx.Module):
    blocks: list

    def __init__(self, hidden{annotation}, depth: int, act=jax.nn.relu, *, key):
{lines}

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
PAIRS = "self.blocks = [Layer(a, b, key=key) for a, b in zip(hidden[:-1], hidden[1:])]"
EITHER = ("if isinstance(hidden, int):", "    hidden = (hidden,) * (depth + 1)", PAIRS)


def net(*lines: str, annotation: str = "") -> str:
    return HEAD + NET.format(annotation=annotation, lines="\n".join(f"        {line}" for line in lines))


@pytest.mark.parametrize(
    ("lines", "annotation"),
    [
        (EITHER, ""),
        (EITHER, ": int | tuple[int, ...]"),
        ((PAIRS,), ": list[int]"),
        (("hidden = (8,) + tuple(hidden) + (8,)", PAIRS), ""),
        (
            (
                "acts = (act,) * depth + (None,)",
                "self.blocks = [Layer(8, 8, a, key=k) for a, k in zip(acts, jr.split(key, depth + 1))]",
            ),
            "",
        ),
    ],
)
def test_sizes_of_which_some_repeat_are_grouped(lines, annotation):
    plan = only(f"{net(*lines, annotation=annotation)}\n\nhidden = [8, 8, 8, 8]\n")
    assert isinstance(plan, Plan) and plan.rule == "SCN102"


@pytest.mark.parametrize(
    "sizes",
    [
        "hidden = [hidden, *map(lambda m: hidden * m, (1, 2, 4, 8))]",
        "hidden = [hidden] + [hidden * 2**i for i in range(depth)]",
        "hidden = [4, 8, 16, 32]",
    ],
)
def test_sizes_that_grow_are_not(sizes):
    said = only(net(sizes, PAIRS, annotation=": int"))
    assert isinstance(said, Refusal) and said.rule == "SCN203" and "differ in the shape of" in said.reason


def test_functions_that_are_written_out_are_each_another():
    lines = "self.blocks = [Layer(8, 8, a, key=key) for a in (act, jax.nn.tanh, hidden)]"
    plan = only(net(lines))
    assert isinstance(plan, Refusal) or plan.holds.name == "BLOCK_SEQ"


LEVELS = """\
class Net(eqx.Module):
    levels: list

    def __init__(self, dim, mults=(1, 2, 4, 8), *, key):
        dims = [dim, *map(lambda m: dim * m, mults)]
        self.levels = []
        for (before, after), k in {walked}:
            self.levels.append([Wide(before, {same}, key=k), Wide({same}, {same}, key=k)])

    def __call__(self, x):
        for first, second in self.levels:
            x = second(first(x))
        return x
"""
WIDE = NET.partition("class Net")[0].replace("class Layer", "class Wide")


def test_levels_of_which_each_has_its_own_widths_are_no_gain():
    text = HEAD + WIDE + LEVELS.replace("{same}", "after")
    said = only(text.replace("{walked}", "zip(list(zip(dims[:-1], dims[1:])), jr.split(key, 4))"))
    assert isinstance(said, Refusal) and said.rule == "SCN203"
    plan = only(text.replace("{walked}", "zip([(dim, dim)] * 4, jr.split(key, 4))"))
    assert isinstance(plan, Plan)


@pytest.mark.parametrize(
    ("made", "gains"),
    [
        pytest.param("jnp.asarray(w[np.nonzero(w > 0)])", False, id="what is above zero"),
        pytest.param("jnp.asarray(w[rows, columns])", False, id="by rows and columns"),
        pytest.param("jnp.asarray(np.unique(w))", False, id="different ones"),
        pytest.param("jnp.asarray(w[np.where(w > 0)])", False, id="where"),
        pytest.param("jnp.where(w > 0, w, 0.0)", True, id="one or the other"),
        pytest.param("jnp.nonzero(w, size=4)[0]", True, id="so many"),
        pytest.param("w[np.argsort(w[0])]", True, id="in another order"),
    ],
)
def test_arrays_as_long_as_values_say_differ_in_shape(made, gains):
    build = (
        f"w = np.asarray(jr.normal(key, (8, 8)))\n        rows, columns = np.nonzero(w > 0)\n        self.w = {made}"
    )
    sparse = f"class Sparse(eqx.Module):\n    w: jax.Array\n\n    def __init__(self, *, key):\n        {build}\n\n"
    sparse += "    def __call__(self, x):\n        return x + self.w.sum()\n\n\n"
    text = (
        HEAD
        + sparse
        + NET.format(annotation="", lines="        self.blocks = [Sparse(key=k) for k in jr.split(key, depth)]")
    )
    assert isinstance(found := only(text), Plan) == gains, found


PYRAMIDS = {
    "a tuple, by number": (
        "dims = (dim, *hidden)",
        "self.blocks = [Layer(dims[i], dims[i + 1], key=key) for i in range(len(hidden))]",
    ),
    "a list, by number": (
        "dims = [dim] + list(hidden)",
        "self.blocks = [Layer(dims[i], dims[i + 1], key=key) for i in range(len(dims) - 1)]",
    ),
    "in pairs": ("dims = [dim, *hidden]", "self.blocks = [Layer(a, b, key=key) for a, b in zip(dims[:-1], dims[1:])]"),
    "as they are": ("self.blocks = [Layer(a, a, key=key) for a in hidden]",),
    "the one before": (
        "self.blocks = []",
        "for size in hidden:",
        "    self.blocks.append(Layer(dim, size, key=key))",
        "    dim = size",
    ),
}


@pytest.mark.parametrize("spelling", PYRAMIDS)
def test_a_pyramid_is_refused_however_it_is_spelled(spelling):
    text = net(*PYRAMIDS[spelling]).replace("hidden, depth: int,", "dim, hidden=(64, 32, 16, 8), ")
    said = only(text)
    assert isinstance(said, Refusal) and said.rule == "SCN203" and "differ in the shape of" in said.reason, said


@pytest.mark.parametrize("spelling", PYRAMIDS)
def test_sizes_that_are_all_one_are_a_stack_however_they_are_spelled(spelling):
    text = net(*PYRAMIDS[spelling]).replace("hidden, depth: int,", "dim, hidden=(64, 64, 64, 64), ")
    assert isinstance(only(text), Plan)
