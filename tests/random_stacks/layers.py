"""Random nestings of lists, stacks and modules, and the same layers in plain lists."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn import ArrayStacked, BlockSeq

D = 3
ACTS: list[Callable[[Any], Any]] = [jnp.tanh, jnp.sin, jax.nn.softplus, jax.nn.relu]


class Scale(eqx.Module):
    w: jax.Array
    p: float

    def __call__(self, x: Any, given: Any) -> Any:
        return x + self.w * x * self.p + given


class Act(eqx.Module):
    w: jax.Array
    table: jax.Array
    act: Callable[[Any], Any]
    name: str = eqx.field(static=True)

    def __call__(self, x: Any, given: Any) -> Any:
        return self.act(x * self.w + given) + 0.1 * self.table.sum()


class Counter(eqx.Module):
    """A layer with entries of its own in a state: what has gone through it, and how often."""

    w: jax.Array
    index: eqx.nn.StateIndex

    def __call__(self, carry: Any, given: Any) -> Any:
        x, state = carry
        seen, count = state.get(self.index)
        new = x * self.w + 0.1 * seen + given
        return new, state.set(self.index, (0.5 * seen + new, count + 1))


class Holder(eqx.Module):
    """A layer that holds a nesting in a field, another in a dict, and perhaps nothing in a third."""

    inner: Any
    others: dict[str, Any]
    nothing: None = None

    def __call__(self, x: Any, given: Any) -> Any:
        return apply(self.others["a"], apply(self.inner, x, given), given * 0.5)


@dataclass(frozen=True)
class Spec:
    """What is built: `kind` is a leaf's class, "H" for a holder, or "L", "A", "B" for a list or a stack of `parts`."""

    kind: Any
    parts: tuple["Spec", ...] = ()
    static: Any = None
    policy: Any = True


def random_spec(rng: Random, depth: int, kinds: str = "LAB", *, counted: bool = False) -> Spec:
    """A nesting of at most this depth, whose outermost is of one of `kinds`; with layers that count, where they may
    stand: an `ArrayStacked` takes none."""
    kind = rng.choice(kinds)
    policy = rng.choice([True, False, "nested", "dots"])
    count = rng.choice([1, 2, 2, 3])
    if kind == "A":
        return Spec("A", (_layer(rng, depth - 1, module=True),) * count, policy=policy)
    pattern = [_layer(rng, depth - 1, module=False, counted=counted) for _ in range(rng.choice([1, 1, 2]))]
    parts = tuple(pattern[at % len(pattern)] for at in range(count))
    return Spec(kind, parts if rng.random() > 0.05 or kind == "L" else (), policy=policy)


def _layer(rng: Random, depth: int, *, module: bool, counted: bool = False) -> Spec:
    if depth <= 0 or rng.random() < 0.35:
        if counted and rng.random() < 0.6:
            return Spec(Counter)
        if rng.random() < 0.5:
            return Spec(Scale, static=rng.choice([0.5, 1.5]))
        return Spec(Act, static=(rng.choice(ACTS), rng.choice("ab")))
    if rng.random() < 0.3:
        parts = [random_spec(rng, inner, "LAB", counted=counted) for inner in (depth, depth - 1)]
        return Spec("H", tuple(parts))
    return random_spec(rng, depth, "AB" if module else "LAB", counted=counted)


def build(spec: Spec, numbers: np.random.Generator) -> tuple[Any, Any]:
    """The nesting, and the same with a list in place of each stack."""
    if spec.kind is Scale:
        leaf: Any = Scale(jnp.asarray(numbers.normal(size=D)), spec.static)
        return leaf, leaf
    if spec.kind is Act:
        table = jnp.asarray(numbers.integers(0, 3, size=2), jnp.int32)
        leaf = Act(jnp.asarray(numbers.normal(size=D)), table, *spec.static)
        return leaf, leaf
    if spec.kind is Counter:
        index = eqx.nn.StateIndex((jnp.asarray(numbers.normal(size=D)), jnp.asarray(0, jnp.int32)))
        leaf = Counter(jnp.asarray(numbers.normal(size=D)), index)
        return leaf, leaf
    built = [build(part, numbers) for part in spec.parts]
    if spec.kind == "H":
        (inner, inner_list), (other, other_list) = built
        return Holder(inner, {"a": other}), Holder(inner_list, {"a": other_list})
    stacked, listed = [one for one, _ in built], [other for _, other in built]
    if spec.kind == "L":
        return stacked, listed
    kind = ArrayStacked if spec.kind == "A" else BlockSeq
    return kind.of(stacked, gradient_checkpointing=spec.policy), listed


def apply(layer: Any, x: Any, given: Any) -> Any:
    """A layer, a list of such, or a stack of such, applied to `x`: an array, or a pair of one and a state."""
    if isinstance(layer, list):
        for one in layer:
            x = apply(one, x, given)
        return x
    if isinstance(layer, ArrayStacked | BlockSeq):
        return layer.fold_via(apply)(x, given)
    if isinstance(x, tuple) and isinstance(layer, Scale | Act):
        return layer(x[0], given), x[1]
    return layer(x, given)


def in_lists(tree: Any) -> Any:
    """The pytree with a list of layers in place of each stack, and the values of a state."""
    if isinstance(tree, ArrayStacked | BlockSeq):
        return [in_lists(layer) for layer in tree]
    if isinstance(tree, Counter):
        return {"w": tree.w}  # where an index points says the place in its own model
    if isinstance(tree, eqx.nn.State):
        return list(tree.tree_flatten()[0])
    if isinstance(tree, Holder):
        return {"inner": in_lists(tree.inner), "others": in_lists(tree.others)}
    if isinstance(tree, list | tuple):
        return [in_lists(one) for one in tree]
    if isinstance(tree, dict):
        return {key: in_lists(value) for key, value in tree.items()}
    return tree
