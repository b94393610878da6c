"""The kind of a loop: a group where the source shows that layers are equal only in parts, a fold or a scan elsewhere."""

import pytest
from helpers import INIT, LOOP, decide, model, only

from scanify.analysis.plan import Holds, Kind, Plan, Refusal

CLASSES = """\
class Rated(eqx.Module):
    linear: eqx.nn.Linear
    rate: float

    def __init__(self, dim, rate=0.0, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)
        self.rate = rate

    def __call__(self, x):
        return self.linear(x) * self.rate


class Flagged(Rated):
    def __call__(self, x):
        return self.linear(x) if self.rate else x


class Dilated(eqx.Module):
    conv: eqx.nn.Conv1d

    def __init__(self, dim, dilation_rate, *, key):
        self.conv = eqx.nn.Conv1d(dim, dim, 3, dilation=dilation_rate, padding=dilation_rate, key=key)

    def __call__(self, x):
        return self.conv(x)


class Wide(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim, out, *, key):
        self.linear = eqx.nn.Linear(dim, out, key=key)

    def __call__(self, x):
        return self.linear(x)


class Staged(eqx.Module):
    linear: eqx.nn.Linear
    first: bool

    def __init__(self, dim, layer_idx, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=jr.fold_in(key, layer_idx))
        self.first = layer_idx == 0

    def __call__(self, x):
        return self.linear(x)


class Numbered(eqx.Module):
    linear: eqx.nn.Linear
    layer_idx: int

    def __init__(self, dim, layer_idx, *, key):
        if layer_idx < 0:
            raise ValueError("the index must not be negative")
        self.linear = eqx.nn.Linear(dim, dim, key=jr.fold_in(key, layer_idx))
        self.layer_idx = layer_idx

    def __call__(self, x):
        return self.linear(x) * jnp.exp(-0.3 * self.layer_idx)


class Asking(Numbered):
    def __call__(self, x):
        return self.linear(x) if self.layer_idx % 2 else x


class Outer(eqx.Module):
    inner: Asking

    def __init__(self, dim, number, *, key):
        self.inner = Asking(dim, number + 1, key=key)

    def __call__(self, x):
        return self.inner(x)


class Fields(eqx.Module):
    linear: eqx.nn.Linear
    kind: int

    @staticmethod
    def init(dim, number, *, key):
        return Fields(eqx.nn.Linear(dim, dim, key=key), number)

    def __call__(self, x):
        return self.linear(x) if self.kind > 1 else x


class Stateful(eqx.Module):
    norm: eqx.nn.BatchNorm

    def __call__(self, x, state):
        return self.norm(x, state)


class Given(eqx.Module):
    def __call__(self, x, state: eqx.nn.State):
        return x, state


"""


def kind(init: str = INIT, loop: str = LOOP, **given: str) -> Kind:
    text = model(loop, init=init, **given).replace("class Model", CLASSES + "class Model")
    return only(text).kind


def made(call: str, walked: str = "enumerate(jr.split(key, depth))", target: str = "i, k", before: str = "") -> str:
    return f"{before}self.layers = [{call} for {target} in {walked}]"


@pytest.mark.parametrize(
    "init",
    [
        pytest.param(made("Block(8, key=k)"), id="keys"),
        pytest.param(made("Block(8, key=jr.fold_in(key, i))"), id="keys made of the index"),
        pytest.param(made("Rated(8, rate=rates[i], key=k)"), id="a rate by the name of its keyword"),
        pytest.param(made("Rated(8, 0.1 * i / depth, key=k)"), id="a fraction"),
        pytest.param(made("Rated(8, dpr[i], key=k)"), id="a rate by the name of its table"),
        pytest.param(
            made("Rated(8, r, key=k)", "zip(np.linspace(0, 1, depth), jr.split(key, depth))", "r, k"),
            id="what linspace gives",
        ),
        pytest.param(
            made("Rated(8, t[i], key=k)", before="t = [float(one) for one in np.linspace(0, 1, depth)]\n"),
            id="a table made of what linspace gives",
        ),
        pytest.param(made("Block(8, i, key=k)"), id="an index that the class does not ask for"),
        pytest.param(made("Block(8, depth if key else 0, key=k)"), id="a choice that is the same for all layers"),
        pytest.param(
            "self.layers = [Block(8, key=key)] + [Block(8, key=k) for k in jr.split(key, depth)]",
            id="two places that build the same",
        ),
        pytest.param(
            "self.layers = [Block(8, key=a_key)] + [Block(8, key=k) for k in jr.split(key, depth)]",
            id="two places that are given keys",
        ),
    ],
)
def test_layers_that_differ_in_keys_and_rates_are_a_fold(init):
    assert kind(init) is Kind.FOLD


@pytest.mark.parametrize(
    "init",
    [
        pytest.param(made("Block(4 if i == 0 else 8, key=k)"), id="the index chooses a size"),
        pytest.param(made("Rated(8, i % 2, key=k)"), id="a remainder of the index"),
        pytest.param(made("Flagged(8, i == depth - 1, key=k)"), id="a comparison with the index"),
        pytest.param(made("Block(8 * 2**i, key=k)"), id="a size that is computed"),
        pytest.param(made("Dilated(8, dilation_rate=i + depth, key=k)"), id="a dilation rate is no rate"),
        pytest.param(made("Block(int(8 * 1.5**i), key=k)"), id="a size that is rounded"),
        pytest.param(made("Wide(sizes[i], sizes[i + 1], key=k)"), id="a table of sizes"),
        pytest.param(
            made("Wide(a, b, key=k)", "zip(sizes[:-1], sizes[1:], jr.split(key, depth))", "a, b, k"),
            id="tables walked side by side",
        ),
        pytest.param(
            made("Block(one, key=key)", "w[1:]", "one", before="w = depth\nif isinstance(w, int):\n    w = (w,) * 5\n"),
            id="a table that any caller may give",
        ),
        pytest.param(made("(Block if i % 2 else Other)(8, key=k)"), id="the index chooses the class"),
        pytest.param(made("Other() if i == 0 else Block(8, key=k)"), id="the index chooses what is built"),
        pytest.param(made("Staged(8, i, key=k)"), id="an index that the constructor compares"),
        pytest.param(made("Staged(8, layer_idx=i + 1, key=k)"), id="an index by keyword"),
        pytest.param(made("Asking(8, i, key=k)"), id="an index that a method asks for"),
        pytest.param(made("Outer(8, i, key=k)"), id="an index that is given on"),
        pytest.param(made("Fields.init(8, i, key=k)"), id="an index that becomes a field"),
        pytest.param(
            "self.layers = []\nfor i in range(depth):\n    if i > 0:\n        d = 8\n    else:\n        d = 4\n"
            "    self.layers.append(Block(d, key=key))",
            id="a statement that chooses a size",
        ),
        pytest.param("self.layers = [Block(8, key=key), Other(), Block(8, key=key)]", id="classes written out"),
        pytest.param(
            "self.layers = [Block(in_keys, key=key), Block(mid_keys, key=key), Block(mid_keys, key=key)]",
            id="what is called keys beside a key",
        ),
    ],
)
def test_layers_that_are_equal_only_in_parts_are_a_group(init):
    assert kind(init) is Kind.GROUP


def test_layers_with_state_of_their_own_are_a_fold():
    init = "self.layers = [Stateful(key=k) for k in jr.split(key, depth)]"
    assert kind(init, "for layer in self.layers:\n    x, _ = layer(x)") is Kind.FOLD


@pytest.mark.parametrize(
    "body",
    ["if i == 0:\n        x = x * 2\n    x = layer(x)", "x = layer(x) if i % 2 else x", "x = layer(x) * i"],
)
def test_a_body_that_branches_on_the_number_of_its_layer_has_layers_that_are_alike(body):
    assert kind(loop=f"for i, layer in enumerate(self.layers):\n    {body}") is Kind.FOLD


@pytest.mark.parametrize("given", ["8, 8", "3, 8", None])
def test_sizes_of_which_any_caller_may_give_two_are_a_group(given):
    init = "self.layers = [Block(a if i == 0 else b, key=k) for i, k in enumerate(jr.split(key, depth))]"
    text = model(init=init).replace("self, depth, *, key", "self, a, b, depth, *, key")
    if given is not None:
        a, b = given.split(", ")
        text += f"\n\ndef build(key):\n    return Model(a={a}, b={b}, depth=3, key=key)\n"
    assert only(text).kind is Kind.GROUP


def test_what_is_collected_from_a_group_leaves_it_one():
    loop = "hs = []\nfor layer in self.layers:\n    x = layer(x)\n    hs.append(x)"
    assert kind(loop=loop, after="return hs") is Kind.SCAN
    assert kind(made("Block(4 if i == 0 else 8, key=k)"), loop, after="return hs") is Kind.GROUP


def test_a_refused_loop_has_its_kind_too():
    loop = "for layer in self.layers:\n    if x[0] > 0:\n        break\n    x = layer(x)"
    text = model(loop, init=made("Block(4 if i == 0 else 8, key=k)"))
    found = only(text)
    assert isinstance(found, Refusal) and found.kind is Kind.GROUP
    assert [one.kind for one in decide(model(loop))] == [Kind.FOLD]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("total += layer(x)", Kind.MAP),
        ("total = total + layer(x)", Kind.MAP),
        ("total = layer(x) + total", Kind.MAP),
        ("y = layer(x)\ntotal += y\ncount = count + y.sum()", Kind.MAP),
        ("total += layer(total)", Kind.FOLD),
        ("total = layer(x) + total * 2", Kind.FOLD),
        ("total *= layer(x)", Kind.FOLD),
        ("total += layer(x)\nx = x + total", Kind.FOLD),
        ("if mask is None:\n    total += layer(x)", Kind.FOLD),
        ("x = layer(x)\ntotal += x", Kind.FOLD),
    ],
)
def test_layers_whose_results_are_added_up_are_independent(body, expected):
    loop = "for layer in self.layers:\n" + "".join(f"    {line}\n" for line in body.splitlines())
    start = "total = jnp.zeros(8)\ncount = jnp.zeros(())"
    assert kind(loop=loop, before=start, after="return x, total, count") is expected


@pytest.mark.parametrize(
    ("made", "rewritten"),
    [
        ("block(8, mask=i == depth - 1, key=k)", True),
        ("block(8 * 2**i, mask=i == depth - 1, key=k)", False),
        ("block(8, mask=3 if i == 0 else 4, key=k)", True),
        ("(block if i == 0 else Other)(8, mask=i == 0, key=k)", True),
        ("block(8, mask=i % 3 == 0, key=k)", True),
    ],
)
def test_layers_of_a_class_that_is_not_shown_may_differ_in_what_a_condition_chooses(made, rewritten):
    init = f"self.layers = [{made} for i, k in enumerate(jr.split(key, depth))]"
    found = only(model(init=init).replace("depth, *, key", "depth, block, *, key"))
    assert isinstance(found, Plan) is rewritten
    if isinstance(found, Refusal):
        assert found.rule == "SCN201"
    else:
        assert (found.kind, found.holds, found.safe) == (Kind.GROUP, Holds.BLOCK_SEQ, False)
