"""What carries begin with, against what a scan carries: weak types, complex numbers, carries that change places."""

import pytest

from scanify.analysis.plan import Plan, Refusal
from tests.analysis.helpers import PRELUDE, model, only
from tests.texts import texts


def obligations(loop: str, before: str = "", after: str = "return x") -> tuple[str, ...]:
    found = only(model(loop, before=before, after=after))
    assert isinstance(found, Plan), found
    return texts(found.obligations)


COMPLEX = "`x` keeps its dtype, though it is cast to `complex`"


@pytest.mark.parametrize(
    "step", ["jnp.fft.fft(layer(x))", "jnp.exp(1j * layer(x))", "layer(x) * 2j", "jnp.fft.ifft(jnp.fft.fft(x)) + layer(x)",
             "jax.lax.complex(layer(x), x)", "layer(x).astype(jnp.complex64)", "jnp.conj(jnp.fft.rfft(layer(x)))"]
)  # fmt: skip
def test_a_layer_that_gives_complex_numbers_is_given_some(step: str) -> None:
    assert COMPLEX in obligations(f"for layer in self.layers:\n    x = {step}")


@pytest.mark.parametrize(
    "step", ["jnp.fft.irfft(jnp.fft.rfft(layer(x)))", "jnp.abs(jnp.fft.fft(layer(x)))", "jnp.fft.ifft(layer(x)).real",
             "jnp.real(jnp.fft.ifft(layer(x)))", "layer(x) * 2"]
)  # fmt: skip
def test_one_that_gives_real_ones_is_not(step: str) -> None:
    assert COMPLEX not in obligations(f"for layer in self.layers:\n    x = {step}")


def test_a_carry_that_is_complex_before_the_loop_stays_so() -> None:
    loop = "for layer in self.layers:\n    x = layer(x) * 2j"
    assert COMPLEX not in obligations(loop, "x = jnp.fft.fft(x)")
    assert COMPLEX not in obligations(loop, "x = jnp.asarray(x) * 1j")


SWAPPED = "for layer in self.layers:\n    a, b = b, layer(a) + b"


@pytest.mark.parametrize(
    "before", ["a, b = x, mask", "a, b = x[:3], x[3:]", "a, b = jnp.split(x, [3])", "a = x\nb = keys"]
)
def test_carries_that_change_places_have_one_shape(before: str) -> None:
    assert obligations(SWAPPED, before, "return a, b")
    assert obligations("for layer in self.layers:\n    a, b = layer(a), b + 1", before, "return a, b") == ()


STREAM = """\
{head}class Stream{bases}:
    tokens: jax.Array
    step: int = {step}

    def advance(self, x):
        return {advanced}


class Mixer(eqx.Module):
    linear: eqx.nn.Linear

    def __call__(self, stream):
        return stream.advance(jax.vmap(self.linear)(stream.tokens))


class Net(eqx.Module):
    mixers: list

    def __init__(self, depth, *, key):
        self.mixers = [Mixer(eqx.nn.Linear(8, 8, key=k)) for k in jr.split(key, depth)]

    def __call__(self, x):
        stream = Stream(x)
        for mixer in self.mixers:
            stream = mixer(stream)
        return stream.tokens
"""
IMPORTS = PRELUDE.partition("class Block")[0] + "import dataclasses\nfrom typing import NamedTuple\n\n\n"


def stream(head: str = "", bases: str = "(eqx.Module)", step: str = "0", advanced: str = "Stream(x, self.step)") -> str:
    return IMPORTS + STREAM.format(head=head, bases=bases, step=step, advanced=advanced)


@pytest.mark.parametrize(
    ("head", "bases"),
    [
        ("", "(eqx.Module)"),
        ("", "(NamedTuple)"),
        ("@jax.tree_util.register_dataclass\n@dataclasses.dataclass\n", ""),
        ("@chex.dataclass\n", ""),
        ("@dataclasses.dataclass\n", "(Base)"),
        ("", "(flax.struct.PyTreeNode)"),
    ],
)
def test_one_that_is_or_may_be_a_pytree_can(head: str, bases: str) -> None:
    assert isinstance(only(stream(head, bases)), Plan)
    later = (
        stream("@dataclasses.dataclass\n", "") + "\n\njax.tree_util.register_dataclass(Stream, ['tokens'], ['step'])\n"
    )
    assert isinstance(only(later), Plan)


STRUCTURE = "`{}` keeps its structure, and the shapes and dtypes in it"


@pytest.mark.parametrize("advanced", ["Stream(x, self.step + 1)", "Stream(x, 2)", "Stream(x, step=len(x))"])
def test_a_static_field_of_a_carry_is_the_same_after_each_layer(advanced: str) -> None:
    found = only(stream(step="eqx.field(static=True, default=0)", advanced=advanced))
    assert isinstance(found, Plan) and STRUCTURE.format("stream") in texts(found.obligations)


PARTS = "for layer in self.layers:\n    a, b = parts\n    parts = {}"


@pytest.mark.parametrize("start", ["jnp.split(x, 2)", "list(jnp.split(x, 2))", "jnp.array_split(x, 2)"])
def test_a_list_that_each_layer_makes_a_tuple_is_said(start: str) -> None:
    found = obligations(PARTS.format("layer(a), b"), f"parts = {start}", "return parts[0]")
    assert STRUCTURE.format("parts") in found


ROW = "`h` keeps its shape, though it may have an axis of size 1 before the loop, which broadcasts"


@pytest.mark.parametrize("start", ["x[None]", "x[:, None]", "x[jnp.newaxis, :]", "jnp.expand_dims(x, 0)"])
def test_an_axis_of_one_may_be_broadcast(start: str) -> None:
    assert ROW in obligations("for layer in self.layers:\n    h = layer(h)", f"h = {start}", "return h")


@pytest.mark.parametrize("start", ["x[0]", "x"])
def test_other_starts_have_none(start: str) -> None:
    assert ROW not in obligations("for layer in self.layers:\n    h = layer(h)", f"h = {start}", "return h")


@pytest.mark.parametrize("start", ["jax.ShapeDtypeStruct(x.shape, x.dtype)", "jax.eval_shape(helper, x)", "x"])
def test_shapes_without_arrays_cannot_be_carried(start: str) -> None:
    text = model("for layer in self.layers:\n    h = jax.eval_shape(layer, h)", before=f"h = {start}", after="return h")
    found = only(text)
    assert "a shape without an array" in found.reason if isinstance(found, Refusal) else not found.safe


@pytest.mark.parametrize(
    ("start", "gives"),
    [
        ("[x, x]", "(layer(h[0]), h[1])"),
        ("(x, x)", "[layer(h[0]), h[1]]"),
        ("[x, x]", "{'x': layer(h[0])}"),
        ("(x, x)", "(layer(h[1]), h[0])"),
    ],
)
def test_a_container_that_is_carried_is_for_a_run(start: str, gives: str) -> None:
    loop = f"for layer in self.layers:\n    h = {gives}"
    assert STRUCTURE.format("h") in obligations(loop, f"h = {start}", "return h")


STATE = """\
class State(NamedTuple):
    h: jax.Array
    t: object


class Step(eqx.Module):
    w: jax.Array

    def __call__(self, s):
        return {gives}


class Net(eqx.Module):
    layers: list

    def __init__(self, depth, *, key):
        self.layers = [Step(jr.normal(k, (4, 4))) for k in jr.split(key, depth)]

    def __call__(self, x):
        s = {start}
        for layer in self.layers:
            s = layer(s)
        return s
"""


def held(start: str, gives: str) -> Plan:
    head = PRELUDE.partition("class Block")[0].replace("import eq", "from typing import NamedTuple\n\nimport eq")
    found = only(head + STATE.replace("{start}", start).replace("{gives}", gives))
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize(
    ("start", "gives"),
    [
        ("State(x, 0)", "State(jnp.tanh(s.h), s.t + 1)"),
        ("(x, 0)", "(jnp.tanh(s[0]), s[1] + 1)"),
        ("{'h': x, 't': 1.0}", "{'h': jnp.tanh(s['h']), 't': s['t'] * 2}"),
        ("State(x, None)", "State(jnp.tanh(s.h), s.h)"),
        ("(x,)", "(jnp.tanh(s[0]), s[0])"),
        ("(x, ('', x))", "(jnp.tanh(s[0]), (s[1][0] + 'a', s[1][1]))"),
    ],
)
def test_carried_containers_hold_arrays_alone(start: str, gives: str) -> None:
    assert held(start, gives).obligations
