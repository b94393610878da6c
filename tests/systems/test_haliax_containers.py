"""haliax's containers of layers as their users write them: `Stacked`, `BlockSeq` and `ArrayStacked`, folded and scanned.

Each is proved equal to the Python loop over its layers, and is left alone: it is a scan already, or is meant to be a loop.
"""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import scanify
from tests.systems.haliax_remats import every_spelling, policy
from tests.systems.transformed import is_left_alone

hax: Any = pytest.importorskip("haliax", reason="haliax is not installed")
hnn: Any = pytest.importorskip("haliax.nn")
# Of its releases that run on Python 3.11, what they use of jax is going to be taken away.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

Layers, Embed, Mlp = hax.Axis("layers", 4), hax.Axis("embed", 3), hax.Axis("mlp", 5)
KEYS = jax.random.split(jax.random.key(0), Layers.size)
X = jax.random.normal(jax.random.key(1), (Embed.size,))
SCALES = jnp.arange(1.0, 5.0)


class Block(eqx.Module):
    up: Any
    down: Any
    scale: Any

    @staticmethod
    def init(embed: Any, mlp: Any, *, scale: Any, key: Any) -> "Block":
        first, second = jax.random.split(key)
        return Block(hnn.Linear.init(embed, mlp, key=first), hnn.Linear.init(mlp, embed, key=second), scale)

    def __call__(self, x: Any, shift: Any) -> Any:
        hidden = hax.tree_checkpoint_name(hax.tanh(self.up(x) + shift), "y")
        return x + self.scale * hax.tree_checkpoint_name(self.down(hidden), "z")

    def told(self, x: Any, shift: Any) -> Any:
        x = self(x, shift)
        return x, hax.sum(x)


def container(kind: Any, remat: Any) -> Any:
    scales = hax.named(SCALES, Layers)
    return kind.init(Layers, Block, gradient_checkpointing=remat)(Embed, Mlp, scale=scales, key=KEYS)


def blocks() -> list[Block]:
    return [
        Block.init(Embed, Mlp, scale=hax.named(scale, ()), key=key) for scale, key in zip(SCALES, KEYS, strict=True)
    ]


def looped(blocks: Any, x: Any) -> Any:
    x, sums = hax.named(x, Embed), []
    for block in blocks:
        x, total = block.told(x, 0.5)
        sums.append(total.array)
    return x.array, jnp.stack(sums)


def proved(loop: Any, scan: Any, *given: Any) -> None:
    answer = scanify.prove_equal(loop, scan, *given)
    assert answer, (answer.verdict, answer.reason)


@pytest.mark.parametrize("kind", ["Stacked", "BlockSeq"])
def test_a_fold_and_a_scan_are_the_loop_over_the_layers(kind: str) -> None:
    held = container(getattr(hnn, kind), True)

    proved(
        lambda held, x: looped(held.unstacked(), x)[0],
        lambda held, x: held.fold(hax.named(x, Embed), 0.5).array,
        held,
        X,
    )
    proved(lambda held, x: looped(held.unstacked(), x), scanned, held, X)


def scanned(held: Any, x: Any) -> Any:
    last, sums = held.scan_via(Block.told)(hax.named(x, Embed), 0.5)
    return last.array, sums.array


@every_spelling
@pytest.mark.parametrize("kind", ["Stacked", "BlockSeq"])
@pytest.mark.whole
def test_every_policy_keeps_the_gradients(kind: str, spelling: str) -> None:
    held = container(getattr(hnn, kind), policy(spelling))
    proved(lambda held, x: looped(held.unstacked(), x), scanned, held, X)


def test_layers_are_those_that_a_list_would_hold() -> None:
    for kind in (hnn.Stacked, hnn.BlockSeq):
        for mine, theirs in zip(container(kind, False).unstacked(), blocks(), strict=True):
            for one, two in zip(jax.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
                assert jnp.allclose(one, two, rtol=1e-6)


@pytest.mark.whole
def test_a_stack_whose_layers_go_in_another_order_is_found_out() -> None:
    held = container(hnn.Stacked, False)
    wrong = scanify.prove_equal(
        lambda held, x: looped(held.unstacked()[::-1], x)[0],
        lambda held, x: held.fold(hax.named(x, Embed), 0.5).array,
        held,
        X,
        up_to=0,
    )
    assert wrong.verdict.name == "FAILED", wrong


def test_nothing_is_said_of_this_file(tmp_path: Path) -> None:
    assert is_left_alone(__file__, tmp_path)
