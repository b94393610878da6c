"""A decoder of 32 blocks in one named tuple, whose key is split in the scan, as its authors write it by hand.

The loop over a list of blocks is rewritten, and compared with the scan by hand: as programs and under every
transformation.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import scanify
from tests.emit.parameters.programs import HEAD
from tests.emit.targets.models import loaded, rewritten
from tests.systems.transformed import TRANSFORMATIONS

BLOCKS, WIDTH = 32, 4
TEXT = f"""{HEAD}
from typing import NamedTuple


class DecoderBlock(NamedTuple):
    input_norm: jax.Array
    q_proj: jax.Array
    out_proj: jax.Array


class Config(NamedTuple):
    rate: float
    eps: float


def split_key_nullable(key, num=2):
    if key is None:
        return (None,) * num
    return tuple(jax.random.split(key, num))


def decoder_block(params, seq, attn_mask, *, key, config):
    h = seq * jax.lax.rsqrt((seq * seq).mean(-1, keepdims=True) + config.eps) * params.input_norm
    h = jnp.tanh(jnp.where(attn_mask, h @ params.q_proj, 0))
    if key is not None:
        h = jnp.where(jax.random.bernoulli(key, 1 - config.rate, h.shape), h / (1 - config.rate), 0)
    return seq + h @ params.out_proj


def by_hand(params, seq, attn_mask, key, config):
    def inner(state, input_):
        key, seq = state
        key, subkey = split_key_nullable(key)
        seq = decoder_block(input_, seq, attn_mask, key=subkey, config=config)
        return (key, seq), None

    (key, seq), _ = jax.lax.scan(inner, (key, seq), params)
    return seq


def decoder(params, seq, attn_mask, key, config):
    for block in params:
        key, subkey = split_key_nullable(key)
        seq = decoder_block(block, seq, attn_mask, key=subkey, config=config)
    return seq
"""


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """Functions of a list of blocks and a sequence, by a key or None: the loop, what is written, and the hand's scan."""
    after, outcome = rewritten(TEXT, tmp_path_factory.mktemp("decoder"), "lax", remat="none")
    assert len(outcome.applied) == 1
    with loaded(TEXT) as module, loaded(after, "after") as other:
        config, mask = module.Config(0.1, 1e-6), jnp.arange(WIDTH) < 3
        keys = jax.random.split(jax.random.key(0), (BLOCKS, 2))
        blocks = [
            module.DecoderBlock(jnp.ones(WIDTH), *(jax.random.normal(k, (WIDTH, WIDTH)) / WIDTH for k in pair))
            for pair in keys
        ]

        def stacked(params: Any, seq: Any, key: Any) -> Any:
            return module.by_hand(jax.tree.map(lambda *p: jnp.stack(p), *params), seq, mask, key, config)

        yield SimpleNamespace(
            blocks=blocks,
            seq=jax.random.normal(jax.random.key(1), (2, WIDTH)),
            loop=lambda params, seq, key: module.decoder(params, seq, mask, key, config),
            scan=lambda params, seq, key: other.decoder(params, seq, mask, key, config),
            hand=stacked,
        )


@pytest.mark.parametrize("key", [None, jax.random.key(2)], ids=["no key", "a key"])
def test_what_is_written_is_the_program_by_hand(system: SimpleNamespace, key: Any) -> None:
    written, hand = (jax.make_jaxpr(each)(system.blocks, system.seq, key) for each in (system.scan, system.hand))
    assert str(written) == str(hand)
    scans = [each for each in written.eqns if each.primitive.name == "scan"]
    assert [each.params["length"] for each in scans] == [BLOCKS]


@pytest.mark.parametrize("count", [5, pytest.param(BLOCKS, marks=pytest.mark.whole)])
def test_it_is_proved_equal_to_the_loop(count: int, system: SimpleNamespace) -> None:
    given = system.blocks[:count], system.seq, jax.random.key(2)
    answer = scanify.prove_equal(system.loop, system.scan, *given, up_to=1)
    assert answer, answer.reason


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_each_transformation_gives_what_it_gives_of_the_loop(system: SimpleNamespace, name: str) -> None:
    few = system.blocks[:4]
    loop, scan = (
        TRANSFORMATIONS[name](lambda params, seq, each=each: each(params, seq, jax.random.key(2)), few, system.seq)
        for each in (system.loop, system.scan)
    )
    assert jax.tree.structure(loop) == jax.tree.structure(scan)
    for one, two in zip(jax.tree.leaves(loop), jax.tree.leaves(scan), strict=True):
        assert one.dtype == two.dtype and jnp.allclose(one, two, rtol=1e-5, atol=1e-6), name
