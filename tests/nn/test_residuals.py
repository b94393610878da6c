"""What each policy keeps between forward and backward, read from the traced program: a dropped remat fails here."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, ScanCheckpointPolicy, tree_checkpoint_name

N, D, H = 6, 3, 5  # layers, width of the carry, width inside a layer: told apart in the shapes of what is kept


class Block(eqx.Module):
    up: jax.Array
    down: jax.Array

    def __call__(self, x: Any) -> Any:
        hidden = tree_checkpoint_name(self.up @ x, "hidden")
        return x + self.down @ jnp.tanh(tree_checkpoint_name(jnp.sin(hidden), "sine"))


def layers(count: int) -> list[Block]:
    keys = jax.random.split(jax.random.key(0), (count, 2))
    return [Block(jax.random.normal(a, (H, D)), jax.random.normal(b, (D, H))) for a, b in keys]


def kept(policy: Any, count: int = N) -> list[str]:
    """Types of the residuals, sorted. Arguments are left out, and reshaped arguments, which XLA does not copy."""
    stack = ArrayStacked.of(layers(count), gradient_checkpointing=policy)

    def backward(stack: Any, x: Any) -> Any:
        return jax.tree.leaves(jax.vjp(lambda stack, x: stack.fold(x), stack, x)[1])

    jaxpr = jax.make_jaxpr(backward)(stack, jnp.ones(D)).jaxpr
    given = set(map(id, jaxpr.invars))
    for equation in jaxpr.eqns:
        if equation.primitive.name == "reshape" and id(equation.invars[0]) in given:
            given.add(id(equation.outvars[0]))
    return sorted(out.aval.str_short() for out in jaxpr.outvars if id(out) not in given and out.aval.shape)


CARRIES = f"float32[{N},{D}]"
INSIDE = f"float32[{N},{H}]"


def test_full_keeps_the_carries_and_nothing_of_the_inside_of_a_layer() -> None:
    assert kept(True) == kept("full") == [CARRIES]


@pytest.mark.parametrize("policy", [False, "save_all"])
def test_without_remat_the_inside_of_every_layer_is_kept(policy: Any) -> None:
    assert kept(policy).count(INSIDE) >= 3  # cos(hidden), the sine or its derivative, the tanh


def test_a_name_keeps_what_is_called_so() -> None:
    assert kept(ScanCheckpointPolicy(save_block_internals=("hidden",))) == [CARRIES, INSIDE]
    assert kept(ScanCheckpointPolicy(save_block_internals=("hidden", "sine"))) == [CARRIES, INSIDE, INSIDE]


def test_dots_keeps_the_matrix_products() -> None:
    assert kept("dots") == [CARRIES, INSIDE]  # the second product is added to the carry, and not needed itself


def test_offloaded_values_are_kept_in_host_memory() -> None:
    in_host_memory = CARRIES.replace("[", "<host>[")
    assert kept("offload") == [in_host_memory]  # the parameters are alive anyway
    assert kept(ScanCheckpointPolicy(save_carries="offload", save_inputs="offload")) == sorted(
        [in_host_memory, f"float32<host>[{N},{D},{H}]", f"float32<host>[{N},{H},{D}]"]
    )
    policy = ScanCheckpointPolicy(offload_block_internals=("hidden",))
    assert kept(policy) == sorted([CARRIES, INSIDE.replace("[", "<host>[")])


@pytest.mark.parametrize(("chunks", "count"), [(2, 6), (3, 6), (6, 6), (4, 12)])
def test_nested_keeps_one_carry_for_each_chunk(chunks: int, count: int) -> None:
    assert kept(ScanCheckpointPolicy(nested=chunks), count) == [f"float32[{chunks},{D}]"]


def test_nested_with_a_shorter_last_chunk_keeps_its_first_carry_too() -> None:
    """Seven layers in chunks of three, three and one; the parameters are cut in two."""
    parameters = [f"float32[{count},{shape}]" for count in ("2,3", "1") for shape in (f"{H},{D}", f"{D},{H}")]
    assert kept(ScanCheckpointPolicy(nested=3), 7) == sorted([f"float32[2,{D}]", f"float32[{D}]", *parameters])


def test_save_carries_false_keeps_nothing_but_the_arguments() -> None:
    assert kept(ScanCheckpointPolicy(save_carries=False)) == []


def test_bytes_kept_are_ordered_as_the_policies_promise() -> None:
    sizes = {name: sum(map(_bytes, kept(name, 16))) for name in (True, "dots", False)}
    sizes["four chunks"] = sum(map(_bytes, kept(ScanCheckpointPolicy(nested=4), 16)))
    assert sizes["four chunks"] < sizes[True] < sizes["dots"] < sizes[False]


def _bytes(text: str) -> int:
    return 4 * int(np.prod([int(size) for size in text.split("[")[1].rstrip("]").split(",")]))
