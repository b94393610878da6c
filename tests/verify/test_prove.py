"""The prover: loops and scans of real layers, every policy, and wrong rewrites that it must not prove.

The plain Python loop is the oracle. Each mutant is a mistake people make; for each the words of the difference are fixed.
"""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jax import lax

from scanify.verify.proof.prove import Proof, prove


def _load(name: str) -> ModuleType:
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


blocks = _load("blocks")
POLICIES = jax.checkpoint_policies
SCANS = {
    "no remat": blocks.scan(),
    "full remat": blocks.scan("full"),
    "nested remat with a remainder": blocks.scan("full", chunk=2),
    "nested remat of one chunk": blocks.scan("full", chunk=5),
    "nested without inner remat": blocks.scan(chunk=2),
    "policy everything": blocks.scan(POLICIES.everything_saveable),
    "policy nothing": blocks.scan(POLICIES.nothing_saveable),
    "policy dots": blocks.scan(POLICIES.dots_saveable),
    "policy dots with no batch dims": blocks.scan(POLICIES.dots_with_no_batch_dims_saveable),
    "policy offload": blocks.scan(POLICIES.offload_dot_with_no_batch_dims("device", "pinned_host")),
    "policy names": blocks.scan(POLICIES.save_only_these_names("nothing has this name")),
}


def own(file: str) -> str | None:
    """Files of the tests are the user's source."""
    return Path(file).name if Path(file).parent == Path(__file__).parent else None


def compare(before: Any, after: Any, args: Any, *, gradients: bool = False) -> Proof:
    trace = blocks.traced_vjp if gradients else blocks.traced
    old, new = trace(before, args), trace(after, args)
    _, _, names, layers = blocks.leaves_of(args)
    extra = len(old.in_avals) - len(names)
    return prove(
        old, new, inputs=names + ["cotangent"] * extra, layers=layers + [None] * extra, files=own, cotangents=extra
    )


@pytest.mark.parametrize("name", SCANS)
def test_outputs_of_a_scan_are_proved_equal_to_the_loop(name: str) -> None:
    proof = compare(blocks.loop, SCANS[name], blocks.arguments())
    assert proof.proved and all(proof.avals_equal) and proof.difference is None and proof.not_understood == ()


@pytest.mark.parametrize("name", SCANS)
def test_gradients_of_a_scan_are_proved_equal_to_the_loop(name: str) -> None:
    proof = compare(blocks.loop, SCANS[name], blocks.arguments(), gradients=True)
    assert proof.proved, proof.difference
    assert all(proof.avals_equal) and len(proof.equal) > blocks.LAYERS * 8


@pytest.mark.parametrize("gradients", [False, True], ids=["outputs", "gradients"])
def test_raw_keys_split_for_the_layers_are_proved(gradients: bool) -> None:
    assert compare(blocks.loop, blocks.scan("full", chunk=2), blocks.arguments(raw=True), gradients=gradients).proved


def test_two_scans_under_different_policies_are_proved_equal_to_each_other() -> None:
    assert compare(blocks.scan("full"), blocks.scan("full", chunk=2), blocks.arguments(), gradients=True).proved


# Mutants ------------------------------------------------------------------------------------------------------------------


def scanned(layers: Any, x: Any, mask: Any, key: Any, *, rows: Any = None, keys: Any = None, end: bool = True) -> Any:
    """A scan that takes its layers and keys from elsewhere than it should."""
    arrays, static = blocks.stacked(layers if rows is None else [layers[i] for i in rows])
    keys = jax.random.split(key, len(layers)) if keys is None else keys(key, len(layers))

    def body(carry: Any, row: Any) -> Any:
        return eqx.combine(row[0], static)(carry, mask, row[1]), None

    x = lax.scan(body, x, (arrays, keys))[0]
    return x * 2.0 if end else x


def swapped_attention(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    """Layer 3 reads one weight of layer 2."""
    layers = list(layers)
    layers[3] = eqx.tree_at(lambda b: b.attention.out.weight, layers[3], layers[2].attention.out.weight)
    return blocks.scan()(layers, x, mask, key)


def scanned_mask(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    """Each layer sees one row of the mask, because it has as many rows as there are layers."""
    arrays, static = blocks.stacked(layers)

    def body(carry: Any, row: Any) -> Any:
        return eqx.combine(row[0], static)(carry, row[1], row[2]), None

    return lax.scan(body, x, (arrays, mask, jax.random.split(key, len(layers))))[0] * 2.0


def not_carried(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    """Every layer is applied to the first input."""
    arrays, static = blocks.stacked(layers)
    step = lambda row: eqx.combine(row[0], static)(x, mask, row[1])  # noqa: E731
    return lax.scan(lambda c, row: (step(row), None), x, (arrays, jax.random.split(key, len(layers))))[0] * 2.0


def no_last_statement(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    return scanned(layers, x, mask, key, end=False)


def one_key(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    def repeated(key: Any, n: int) -> Any:
        return jnp.stack([jax.random.split(key, n)[0]] * n)

    return scanned(layers, x, mask, key, keys=repeated)


def reversed_order(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    return scanned(layers, x, mask, key, rows=[4, 3, 2, 1, 0])


def shifted_keys(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    return scanned(layers, x, mask, key, keys=lambda key, n: jnp.roll(jax.random.split(key, n), 1))


def without_layer(index: int) -> Any:
    def run(layers: Any, x: Any, mask: Any, key: Any) -> Any:
        keep = [i for i in range(len(layers)) if i != index]
        keys = jax.random.split(key, len(layers))
        for i in keep:
            x = layers[i](x, mask, keys[i])
        return x * 2.0

    return run


MUTANTS = {
    "reversed order": (reversed_order, 0, "reads .blocks[4].", "where the loop reads .blocks[0]."),
    "one weight of the layer before": (
        swapped_attention,
        3,
        "reads .blocks[2].attention.out.weight where the loop reads .blocks[3].attention.out.weight",
        "",
    ),
    "one key for all layers": (one_key, 1, "takes [0] of random_split", "where the loop takes [1]"),
    "keys shifted by one": (shifted_keys, 0, "takes [4] of random_split", "where the loop takes [0]"),
    "dropped last layer": (without_layer(4), 4, "is never applied: .blocks[4].", "not read"),
    "dropped middle layer": (without_layer(2), 2, "is never applied: .blocks[2].", "not read"),
    "scanned mask": (scanned_mask, 0, "uses [0] of mask", "where the loop uses mask"),
    "missing last statement": (no_last_statement, None, "to which the loop then applies mul", ""),
    "carry not updated": (not_carried, None, "", ""),
}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("gradients", [False, True], ids=["outputs", "gradients"])
def test_no_wrong_rewrite_is_proved(name: str, gradients: bool) -> None:
    proof = compare(blocks.loop, MUTANTS[name][0], blocks.arguments(), gradients=gradients)
    assert not proof.proved and proof.difference is not None


@pytest.mark.parametrize("name", MUTANTS)
def test_the_difference_names_layer_line_and_cause(name: str) -> None:
    mutant, layer, *words = MUTANTS[name]
    difference = compare(blocks.loop, mutant, blocks.arguments()).difference
    assert difference is not None and difference.before is not None and difference.after is not None
    for word in words:
        assert word in difference.what
    if layer is not None:
        assert difference.before.layer == layer and f"layer {layer}" in difference.what
    assert difference.before.file == "blocks.py" and difference.before.line is not None
    assert difference.after.file in ("blocks.py", "test_prove.py")


def test_a_drop_rate_taken_from_layer_0_is_named_with_both_numbers() -> None:
    args = blocks.arguments(rates=(0.1, 0.1, 0.2, 0.3, 0.4))

    def same_rate(layers: Any, *rest: Any) -> Any:
        return blocks.loop([eqx.tree_at(lambda b: b.dropout.p, layer, 0.1) for layer in layers], *rest)

    difference = compare(blocks.loop, same_rate, args).difference
    assert difference is not None and difference.before is not None
    assert difference.what == "layer 2: uses float literal 0.1 where the loop uses float literal 0.2"
    assert difference.before.layer == 2
    assert compare(blocks.loop, blocks.scan(), args).proved is False
