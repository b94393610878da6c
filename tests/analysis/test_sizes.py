"""Sizes of layers that are listed: which of them are shown to repeat, and which to differ from layer to layer."""

import pytest
from helpers import PRELUDE, only

from scanify.analysis.plan import Holds, Plan, Refusal

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


def net(*lines: str, annotation: str = "") -> str:
    return HEAD + NET.format(annotation=annotation, lines="\n".join(f"        {line}" for line in lines))


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


def test_levels_of_which_each_has_its_own_widths_are_left_to_evidence():
    text = HEAD + WIDE + LEVELS.replace("{same}", "after")
    said = only(text.replace("{walked}", "zip(list(zip(dims[:-1], dims[1:])), jr.split(key, 4))"))
    assert isinstance(said, Refusal) and said.undecided is not None


@pytest.mark.parametrize(
    ("made", "shown"),
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
def test_arrays_as_long_as_values_say_may_differ_in_shape(made, shown):
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
    found = only(text)
    assert isinstance(found, Plan) and (shown or found.holds is Holds.BLOCK_SEQ), found


SPELLINGS = {
    "a tuple, by number": (
        "dims = (dim, *hidden)",
        "self.blocks = [Layer(dims[i], dims[i + 1], key=key) for i in range(len(hidden))]",
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


@pytest.mark.parametrize("usual", ["(64, 32, 16, 8)", "(64, 64, 64, 64)"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_sizes_that_a_caller_may_list_are_left_to_evidence_however_they_are_spelled(spelling, usual):
    said = only(net(*SPELLINGS[spelling]).replace("hidden, depth: int,", f"dim, hidden={usual}, "))
    assert isinstance(said, Refusal) and (said.rule, said.undecided is not None) == ("SCN203", True), said
