"""The ways to apply a list of layers that are compared, each as parameters and a function of them and the input."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn import ArrayStacked

POLICIES = ("none", "full", "nested", "offload", "save_all", "dots")
_OURS = {"none": False, "full": True}
_HALIAX = {"none": False, "full": True, "nested": "nested", "offload": "offload", "save_all": "save_all"}


@dataclass(frozen=True)
class Contender:
    """`apply(parameters, x)` applies all layers. `policy` is what it keeps for the backward pass."""

    name: str
    policy: str
    parameters: Any
    apply: Callable[[Any, Any], Any]


def contenders(
    layers: list[eqx.Module], policies: tuple[str, ...], loop: bool, unrolls: tuple[int, ...] = ()
) -> Iterator[Contender]:
    """Every way there is here, the Python loop first (where it is asked for: it takes minutes to compile).

    `unrolls`: of ours also scans so many layers of which are one step.
    """
    if loop:
        yield _loop(layers)
    theirs = _class_of_haliax()
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[eqx.filter(one, eqx.is_array) for one in layers])
    static = eqx.filter(layers[0], eqx.is_array, inverse=True)
    for policy in policies:
        scan = _by_hand(policy, len(layers))
        if scan is not None:
            yield Contender("by hand", policy, stacked, _scanning(scan, static))
        # XLA for GPUs refuses unrolled scans that offload (jaxlib 0.11.2).
        for unroll in (1, *(unrolls if policy != "offload" else ())):
            yield _ours(stacked, static, len(layers), policy, unroll)
        if policy in _HALIAX and theirs is not None:
            yield _haliax(theirs, stacked, static, len(layers), policy)
    yield Contender("eqx.internal", "checkpointed", stacked, _scanning(_equinox, static))


def _loop(layers: list[eqx.Module]) -> Contender:
    parameters, static = eqx.partition(layers, eqx.is_array)

    def apply(parameters: Any, x: Any) -> Any:
        for layer in eqx.combine(parameters, static):
            x = layer(x)
        return x

    return Contender("loop", "none", parameters, apply)


Scan = Callable[[Callable[[Any, Any], tuple[Any, None]], Any, Any], Any]


def _scanning(scan: Scan, static: Any) -> Callable[[Any, Any], Any]:
    return lambda parameters, x: scan(lambda carry, one: (eqx.combine(one, static)(carry), None), x, parameters)


def _by_hand(policy: str, count: int) -> Scan | None:
    """What one writes oneself; nested with a rolled outer scan, for the largest chunk up to the square root."""
    policies = jax.checkpoint_policies
    chosen = {"full": None, "save_all": policies.everything_saveable, "dots": policies.dots_with_no_batch_dims_saveable}
    if policy == "none":
        return lambda body, x, xs: jax.lax.scan(body, x, xs)[0]
    if policy in chosen:
        return lambda body, x, xs: jax.lax.scan(jax.checkpoint(body, policy=chosen[policy], prevent_cse=False), x, xs)[
            0
        ]
    if policy != "nested":
        return None
    chunk = max(size for size in range(1, int(count**0.5) + 1) if count % size == 0)

    def nested(body: Any, x: Any, xs: Any) -> Any:
        inner = jax.checkpoint(body, prevent_cse=False)
        outer = jax.checkpoint(lambda x, xs: (jax.lax.scan(inner, x, xs)[0], None), prevent_cse=False)
        return jax.lax.scan(outer, x, jax.tree.map(lambda leaf: leaf.reshape(-1, chunk, *leaf.shape[1:]), xs))[0]

    return nested


def _equinox(body: Any, x: Any, xs: Any) -> Any:
    import equinox.internal as eqxi

    return eqxi.scan(body, x, xs, kind="checkpointed")[0]


def _ours(stacked: Any, static: Any, count: int, policy: str, unroll: int) -> Contender:
    """All ways but the loop are given the very same arrays, so that no one's lie better in memory."""
    stack = ArrayStacked(eqx.combine(stacked, static), count, _OURS.get(policy, policy))
    parameters, rest = eqx.partition(stack, eqx.is_array)
    name = "scanify" if unroll == 1 else f"scanify, unroll={unroll}"
    layer = type(static)
    return Contender(
        name, policy, parameters, lambda p, x: eqx.combine(p, rest).fold_via(layer.__call__, unroll=unroll)(x)
    )


def _class_of_haliax() -> Any:
    """haliax's `ArrayStacked`, which releases since marin-haliax 0.2.225 leave to levanter; None without either."""
    try:
        from haliax.nn import ArrayStacked
    except ImportError:
        try:
            from levanter.layers.stacked import ArrayStacked
        except ImportError:
            return None
    return ArrayStacked


def _haliax(theirs: Any, stacked: Any, static: Any, count: int, policy: str) -> Contender:
    def pick(index: Any) -> Any:
        return eqx.combine(jax.tree.map(lambda leaf: leaf[index], stacked), static)

    module = type("Picked", (), {"init": staticmethod(pick)})
    built = theirs.init(count, module, gradient_checkpointing=_HALIAX[policy])(jnp.arange(count))
    parameters, rest = eqx.partition(built, eqx.is_array)
    arrays = jax.tree.unflatten(jax.tree.structure(parameters), jax.tree.leaves(stacked))
    return Contender("haliax", policy, arrays, lambda p, x: eqx.combine(p, rest).fold(x))
