"""Parameters that are stacked outside: the same parameters, and a program that copies none of them."""

import runpy
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scanify
from scanify.errors import ScanifyError
from tests.fixture_helpers import ROOT
from tests.reroll.programs import equal, lengths
from tests.reroll.test_reroll import MODEL
from tests.reroll.test_wires import LIST, N, X, dicts, peeled, two_runs

HAIKU = {f"net/linear{'' if at == 0 else f'_{at}'}": each for at, each in enumerate(LIST * 2)}
LINEN = {"params": {f"Dense1D_{at}": each for at, each in enumerate(LIST)}, "step": jnp.array(3)}
EXPERTS = [{"experts": [one["w"], one["w"]], "gate": {"w1": one["b"], "w2": one["b"]}} for one in LIST]
UNEQUAL = [*LIST[:4], {"w": jnp.ones((2, 2)), "b": jnp.ones(4)}, LIST[5]]


@pytest.mark.parametrize(
    ("params", "names"),
    [
        (LIST, ["[0..5]['b']", "[0..5]['w']"]),
        (HAIKU, ["['net/linear_0..11']['b']", "['net/linear_0..11']['w']"]),
        (LINEN, ["['params']['Dense1D_0..5']['b']", "['params']['Dense1D_0..5']['w']", "['step']"]),
        (EXPERTS, ["[0..5]['experts'][0]", "[0..5]['experts'][1]", "[0..5]['gate']['w1']", "[0..5]['gate']['w2']"]),
        (UNEQUAL, ["[0..5]['b']", "[0..3]['w']", "[4]['w']", "[5]['w']"]),
        ([jax.random.key(at) for at in range(3)], ["[0..2]"]),
        ([np.arange(2.0) + at for at in range(3)] + ["text", None, 4], ["[0..2]"]),
    ],
)
def test_layers_are_told_by_their_names_and_come_back(params: Any, names: list[str]) -> None:
    stacked, unstack = scanify.reroll_parameters(params)
    assert list(stacked) == names
    back = unstack(stacked)
    equal(back, params, 0.0)
    assert [type(leaf) for leaf in jax.tree.leaves(back)] == [type(leaf) for leaf in jax.tree.leaves(params)]
    equal(unstack.stack(back), stacked, 0.0)


def test_rows_are_in_the_order_of_the_layers() -> None:
    stacked, _ = scanify.reroll_parameters(HAIKU)
    equal(stacked["['net/linear_0..11']['b']"], jnp.stack([each["b"] for each in LIST * 2]), 0.0)


def test_what_is_not_theirs_is_refused() -> None:
    _, unstack = scanify.reroll_parameters(LIST)
    with pytest.raises(ScanifyError, match="expected the stacks"):
        unstack({"w": 1})
    with pytest.raises(ScanifyError, match="expected parameters with the structure"):
        unstack.stack(LIST[1:])


def copies(jaxpr: Any) -> int:
    """How many arrays a program joins."""
    return str(jaxpr).count("concatenate") + str(jaxpr).count(" stack[")


@pytest.mark.parametrize("f", [dicts, two_runs, peeled])
def test_a_program_reads_them_and_copies_nothing(f: Any) -> None:
    stacked, unstack = scanify.reroll_parameters(LIST)

    def ours(stacked: Any, x: Any) -> Any:
        return scanify.reroll(lambda stacked, x: f(unstack(stacked), x), min_layers=3)(stacked, x)

    program = jax.make_jaxpr(ours)(stacked, X)
    assert lengths(program)[0] >= N - 2
    assert copies(program) == 0
    assert copies(jax.make_jaxpr(scanify.reroll(f, min_layers=3))(LIST, X)) > 0
    equal(jax.jit(ours)(stacked, X), jax.jit(f)(LIST, X), 1e-6)
    gradients = [jax.jit(jax.grad(lambda given, x, each=each: each(given, x).sum())) for each in (ours, f)]
    equal(unstack(gradients[0](stacked, X)), gradients[1](LIST, X), 1e-5)
    assert copies(jax.make_jaxpr(gradients[0])(stacked, X)) == 0


def test_many_rows_are_no_layers() -> None:
    """To take 500 rows out of a stack is no loop of its own."""
    stacked, unstack = scanify.reroll_parameters([LIST[at % N] for at in range(500)])
    f = scanify.reroll(lambda stacked, x: dicts(unstack(stacked), x))
    assert lengths(jax.make_jaxpr(f)(stacked, X)) == [500]


def test_of_a_model() -> None:
    stacked, unstack = scanify.reroll_parameters(MODEL)
    assert stacked[".layers[0..5].up.weight"].shape == (6, 8, 4)
    equal(eqx.filter(unstack(stacked), eqx.is_array), eqx.filter(MODEL, eqx.is_array), 0.0)


@pytest.mark.whole
def test_the_gpt_needs_the_temporaries_of_the_rewritten_source() -> None:
    cases = runpy.run_path(str(ROOT / "gpt" / "cases.py"))
    temporaries = []
    for name in ("before.py", "after_array_stacked.py"):
        module = SimpleNamespace(**runpy.run_path(str(ROOT / "gpt" / name)))
        model = module.GPT(cases["config"](module, n_layer=8), key=jax.random.key(0))
        tokens, key = jnp.arange(16) * 7 % 96, jax.random.key(1)
        params, static = eqx.partition(model, eqx.is_inexact_array)

        def loss(params: Any, static: Any = static, tokens: Any = tokens, key: Any = key) -> Any:
            return (eqx.combine(params, static)(tokens, key=key) ** 2).mean()

        if name == "before.py":
            params, unstack = scanify.reroll_parameters(params)
            rolled = scanify.reroll(lambda stacked, loss=loss, unstack=unstack: loss(unstack(stacked)), remat="nested")
            compiled = jax.jit(jax.grad(rolled)).lower(params).compile()
        else:
            compiled = jax.jit(jax.grad(loss)).lower(params).compile()
        temporaries.append(compiled.memory_analysis().temp_size_in_bytes)
    assert temporaries[0] <= 1.05 * temporaries[1]
