"""What a list of parameters may hold beside arrays of floats, and how its elements may differ.

The loop is the oracle: the scan computes the same, or says loudly what it was given.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scanify
from tests.emit.targets.models import loaded, rewritten

APPLY = """\
import jax
import jax.numpy as jnp


def apply(params, x):
    for p in params:
        x = {update}
    return x
"""


def versions(update: str, folder: Path) -> tuple[str, str]:
    text = APPLY.replace("{update}", update)
    after, outcome = rewritten(text, folder, "lax", remat="none")
    assert len(outcome.applied) == 1
    return text, after


def both(update: str, folder: Path, *given: Any) -> tuple[Any, Any]:
    """What the loop and the scan compute."""
    text, after = versions(update, folder)
    with loaded(text) as module, loaded(after, "after") as other:
        return module.apply(*given), other.apply(*given)


def equal(update: str, folder: Path, *given: Any) -> None:
    text, after = versions(update, folder)
    with loaded(text) as module, loaded(after, "after") as other:
        assert scanify.prove_equal(module.apply, other.apply, *given, up_to=1)


SQUARE = jnp.eye(3) / 2
X = jnp.arange(3.0)


class TestWhatIsAlike:
    def test_weak_types_stay_weak(self, tmp_path: Path) -> None:
        params = [{"w": SQUARE.astype(jnp.bfloat16), "s": jnp.asarray(float(i))} for i in range(3)]
        assert params[0]["s"].weak_type
        loop, scan = both('x * p["s"] @ p["w"]', tmp_path, params, X.astype(jnp.bfloat16))
        assert loop.dtype == scan.dtype == jnp.bfloat16
        assert jnp.array_equal(loop, scan)

    def test_none_is_no_leaf(self, tmp_path: Path) -> None:
        params = [{"w": SQUARE * i, "b": None} for i in range(1, 4)]
        equal('x @ p["w"] + (0.0 if p["b"] is None else p["b"])', tmp_path, params, X)

    def test_tables_of_tokens_have_gradients_of_no_numbers(self, tmp_path: Path) -> None:
        text, after = versions('jnp.tanh(x @ p["w"] + p["table"][0])', tmp_path)
        params = [{"w": SQUARE * i, "table": jnp.array([i, 2])} for i in range(1, 4)]
        with loaded(text) as module, loaded(after, "after") as other:
            loop, scan = (
                jax.grad(lambda p, each=each: each.apply(p, X).sum(), allow_int=True)(params)
                for each in (module, other)
            )
        assert jax.tree.structure(loop) == jax.tree.structure(scan)
        for one, two in zip(jax.tree.leaves(loop), jax.tree.leaves(scan), strict=True):
            assert one.dtype == two.dtype and one.shape == two.shape
        assert scan[0]["table"].dtype == jax.dtypes.float0
        assert all(jnp.allclose(one["w"], two["w"]) for one, two in zip(loop, scan, strict=True))

    def test_arrays_of_numpy_become_arrays(self, tmp_path: Path) -> None:
        params = [{"w": np.eye(3, dtype=np.float32) * i} for i in range(1, 4)]
        loop, scan = both('x @ p["w"]', tmp_path, params, X)
        assert loop.dtype == scan.dtype and jnp.allclose(loop, scan)

    def test_keys_are_leaves(self, tmp_path: Path) -> None:
        params = [{"w": SQUARE, "key": jax.random.key(i)} for i in range(3)]
        loop, scan = both('x @ p["w"] + jax.random.normal(p["key"], x.shape)', tmp_path, params, X)
        assert jnp.array_equal(loop, scan)

    def test_one_layer_is_a_scan_of_one(self, tmp_path: Path) -> None:
        equal('jnp.tanh(x @ p["w"])', tmp_path, [{"w": SQUARE}], X)

    def test_a_tuple_of_layers_is_as_good_as_a_list(self, tmp_path: Path) -> None:
        equal('jnp.tanh(x @ p["w"])', tmp_path, tuple({"w": SQUARE * i} for i in range(1, 4)), X)

    def test_one_array_in_all_layers_has_the_sum_of_its_gradients(self, tmp_path: Path) -> None:
        text, after = versions('jnp.tanh(x @ p["w"])', tmp_path)
        with loaded(text) as module, loaded(after, "after") as other:
            loop, scan = (
                jax.grad(lambda w, each=each: each.apply([{"w": w}] * 3, X).sum())(SQUARE) for each in (module, other)
            )
        assert jnp.allclose(loop, scan)


TANH = 'jnp.tanh(x @ p["w"])'


class TestWhatIsNot:
    @pytest.mark.parametrize(
        ("params", "said"),
        [
            ([], "at least one tree"),
            ([{"w": SQUARE}, {"w": SQUARE, "b": X}], "one structure"),
            ([{"w": SQUARE}, {"w": SQUARE, "b": None}], "one structure"),
            ([{"w": SQUARE, "b": X}, {"w": SQUARE, "b": None}], "one structure"),
            ([{"w": SQUARE}, {"w": jnp.zeros((3, 4))}], "one shape, dtype and weak_type"),
            ([{"w": SQUARE}, {"w": SQUARE.astype(jnp.bfloat16)}], "one shape, dtype and weak_type"),
            (
                [{"w": SQUARE, "s": jnp.asarray(1.0)}, {"w": SQUARE, "s": jnp.ones(())}],
                "one shape, dtype and weak_type",
            ),
            ([{"w": SQUARE, "heads": 2}, {"w": SQUARE, "heads": 2}], r"expected arrays, got 2 at \['heads'\]"),
            ([{"w": SQUARE, "eps": 1e-5}], "expected arrays, got 1e-05"),
            ([{"w": SQUARE, "act": "tanh"}], "expected arrays, got 'tanh'"),
            ([{"w": SQUARE, "act": jnp.tanh}], "expected arrays, got"),
        ],
    )
    def test_the_program_says_so_when_it_is_traced(self, params: Any, said: str, tmp_path: Path) -> None:
        _, after = versions(TANH, tmp_path)
        with loaded(after) as module, pytest.raises(ValueError, match=said):
            jax.eval_shape(lambda x: module.apply(params, x), X)

    def test_layers_of_other_widths_are_said_too(self, tmp_path: Path) -> None:
        _, after = versions(TANH, tmp_path)
        params = [{"w": jnp.zeros((3, 4))}, {"w": jnp.zeros((4, 2))}]
        with loaded(after) as module, pytest.raises(ValueError, match=r"\(3, 4\).* and \(\(4, 2\)"):
            module.apply(params, X)

    def test_a_carry_that_changes_is_an_error_of_jax(self, tmp_path: Path) -> None:
        _, after = versions(TANH, tmp_path)
        with loaded(after) as module, pytest.raises(TypeError, match="carry"):
            module.apply([{"w": jnp.zeros((3, 4))}], X)

    def test_static_fields_that_differ(self, tmp_path: Path) -> None:
        text = """\
import dataclasses
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["act"])
@dataclasses.dataclass
class Dense:
    w: jax.Array
    act: str


def apply(layers: list[Dense], x):
    for layer in layers:
        x = getattr(jnp, layer.act)(x @ layer.w)
    return x
"""
        after, _ = rewritten(text, tmp_path, "lax")
        with loaded(after) as module:
            same = [module.Dense(SQUARE, "tanh")] * 3
            assert module.apply(same, X).shape == (3,)
            with pytest.raises(ValueError, match="one structure"):
                module.apply([*same, module.Dense(SQUARE, "sin")], X)

    @pytest.mark.parametrize("keys", [2, 4])
    def test_another_number_of_keys_than_layers(self, keys: int, tmp_path: Path) -> None:
        text = """\
import jax
import jax.numpy as jnp


def apply(params, x, keys):
    for p, key in zip(params, keys):
        x = x @ p["w"] + jax.random.normal(key, x.shape)
    return x
"""
        after, _ = rewritten(text, tmp_path, "lax")
        with (
            loaded(after) as module,
            pytest.raises(ValueError, match=f"expected 3 values, one for each tree, got {keys}"),
        ):
            module.apply([{"w": SQUARE}] * 3, X, jax.random.split(jax.random.key(0), keys))
