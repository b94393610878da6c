"""Layers made at random: a layer is a list of steps on the values that it is given, each a few operations of jax."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name

SIZE = 4
Values = list[Any]


@dataclass(frozen=True)
class Step:
    """What is done with the values at `reads`; `detail` is what a near repetition changes."""

    kind: str
    reads: tuple[int, ...]
    detail: Any = None


@dataclass
class Given:
    """What one layer has beside what it carries: its number, parameters, arrays that all share, a key."""

    at: int
    params: dict[str, Any]
    shared: dict[str, Any]
    key: Any
    kept: list[Any] = field(default_factory=list)
    cache: Any = None


def _rule(scale: float) -> Callable[[Any], Any]:
    @jax.custom_jvp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    f.defjvp(lambda p, t: (jnp.sin(p[0]), scale * t[0]))
    return f


_RULES = (_rule(2.0), _rule(3.0))
_POLICIES = (jax.checkpoint_policies.nothing_saveable, jax.checkpoint_policies.dots_saveable)
_UNARY: tuple[Callable[[Any], Any], ...] = (
    jnp.sin,
    jnp.tanh,
    jax.nn.sigmoid,
    jax.nn.relu,
    jax.nn.gelu,
    jax.nn.softmax,
    lambda x: jnp.exp(-(x * x)),
)


def _inner_scan(x: Any, detail: int) -> Any:
    return jax.lax.scan(lambda c, t: (jnp.sin(c) + t, None), x, jnp.arange(2.0), reverse=bool(detail))[0]


# Each gives one value. `detail` is 0 or 1, and another program for each.
KINDS: dict[str, Callable[[Given, list[Any], Any], Any]] = {
    "unary": lambda given, x, detail: _UNARY[detail](x[0]),
    "add": lambda given, x, detail: x[0] + x[1] if detail else x[0] - x[1],
    "multiply": lambda given, x, detail: x[0] * x[1] if detail else jnp.maximum(x[0], x[1]),
    "weight": lambda given, x, detail: jnp.tanh(
        jnp.dot(given.params["w"], x[0], precision=(None, jax.lax.Precision.HIGHEST)[detail])
    ),
    "bias": lambda given, x, detail: x[0] + given.params["b"] * (1 if detail else 2),
    "number": lambda given, x, detail: x[0] * (0.5 + given.at / 8) + (0.25 if detail else 0.0),
    "number in a jit": lambda given, x, detail: jax.jit(lambda x: jnp.cos(x * (0.5 + given.at / 8) + detail))(x[0]),
    "shared": lambda given, x, detail: jnp.where(given.shared["mask"], x[0], given.shared["a" if detail else "b"]),
    "axis": lambda given, x, detail: jnp.cumsum(x[0].reshape(2, 2), axis=detail).reshape(SIZE),
    "power": lambda given, x, detail: jnp.tanh(x[0]) ** (2 + detail),
    "reverse": lambda given, x, detail: jnp.concatenate([x[0][2:], x[0][:2]]) if detail else x[0][::-1],
    "name": lambda given, x, detail: checkpoint_name(jnp.cos(x[0]), ("one", "other")[detail]),
    "rule": lambda given, x, detail: _RULES[detail](x[0]),
    "checkpoint": lambda given, x, detail: jax.checkpoint(
        lambda x: jnp.sin(jnp.cos(x) * (1 + given.at / 8)), policy=_POLICIES[detail]
    )(x[0]),
    "row": lambda given, x, detail: x[0] * given.shared["rows"][given.at if detail else given.at + 1],
    "part": lambda given, x, detail: x[0] - jnp.sum(x[0][detail : detail + 2]),
    "key": lambda given, x, detail: x[0] + jax.random.uniform(given.key, (SIZE,), minval=detail),
    "folded key": lambda given, x, detail: (
        x[0] * jax.random.bernoulli(jax.random.fold_in(given.shared["key"], given.at), 0.25 + detail / 2, (SIZE,))
    ),
    "scan": lambda given, x, detail: _inner_scan(x[0], detail),
    "choice": lambda given, x, detail: jax.lax.cond(jnp.sum(x[0]) > detail, jnp.sin, jnp.cos, x[0]),
    "to half and back": lambda given, x, detail: x[0].astype((jnp.bfloat16, jnp.float16)[detail]).astype(jnp.float32),
    "barrier": lambda given, x, detail: jax.lax.optimization_barrier(x[0]) if detail else x[0] + 0.125,
}
# Kinds of which the layer's own numbers and rows make no difference to what is found.
_ALL = [kind for kind in KINDS if kind != "unary"]


@dataclass(frozen=True)
class Layer:
    """Steps, which of their values are carried on, and what is kept of them.

    `carries` are indices of values: those that are given come first, one for each that is carried.
    """

    steps: tuple[Step, ...]
    carries: tuple[int, ...]
    keep: int | None = None
    cache: int | None = None
    wrapped: str = ""

    @classmethod
    def random(cls, random: Random) -> "Layer":
        """A layer that does not do little, in which every step is read by a later one."""
        width = random.choice((1, 1, 2, 3))
        steps: list[Step] = []
        unread = list(range(width))
        for at in range(random.randint(6, 12)):
            kind = random.choice(_ALL) if random.random() < 0.75 else "unary"
            count = 2 if kind in ("add", "multiply") else 1
            reads = tuple(unread.pop(0) if unread else random.randrange(width + at) for _ in range(count))
            detail = random.randrange(len(_UNARY)) if kind == "unary" else random.randrange(2)
            steps.append(Step(kind, reads, detail))
            unread.append(width + at)
        last = width + len(steps) - 1
        while len(unread) > width:
            steps.append(Step("add", (unread.pop(0), unread.pop(0)), 1))
            last += 1
            unread.append(last)
        carries = [unread[at] if at < len(unread) else random.randrange(width, last + 1) for at in range(width)]
        keep = random.randrange(width, last + 1) if random.random() < 0.4 else None
        cache = random.randrange(width, last + 1) if random.random() < 0.2 else None
        # Numbers that differ in a checkpoint within another are not found.
        remat = "" if any(step.kind == "checkpoint" for step in steps) else "checkpoint"
        wrapped = random.choice(("", "", "", "jit", remat))
        return cls(tuple(steps), tuple(carries), keep, cache, wrapped)

    def near(self, random: Random) -> "Layer":
        """Another layer, which differs in one step."""
        at = random.randrange(len(self.steps))
        step, width = self.steps[at], len(self.carries)
        if random.random() < 0.3 and width + at > 1:
            other = random.choice([value for value in range(width + at) if value != step.reads[0]])
            step = replace(step, reads=(other, *step.reads[1:]))
        elif step.kind == "unary":
            step = replace(step, detail=(step.detail + 1) % len(_UNARY))
        else:
            step = replace(step, detail=1 - step.detail)
        return replace(self, steps=(*self.steps[:at], step, *self.steps[at + 1 :]))

    def __call__(self, given: Given, carry: Values) -> Values:
        """The values that it carries on; what is kept goes to `given`."""

        def values(carry: Values, params: Any, key: Any) -> Values:
            own = replace(given, params=params, key=key)
            found = list(carry)
            for step in self.steps:
                found.append(KINDS[step.kind](own, [found[at] for at in step.reads], step.detail))
            return found

        wrap = {"": lambda f: f, "jit": jax.jit, "checkpoint": jax.checkpoint}[self.wrapped]
        found = wrap(values)(carry, given.params, given.key)
        if self.keep is not None:
            given.kept.append(found[self.keep])
        if self.cache is not None:
            given.cache = given.cache.at[given.at].set(found[self.cache])
        return [found[at] for at in self.carries]


def params(random: Random, count: int) -> list[dict[str, Any]]:
    """The parameters of layers."""
    numbers = np.random.default_rng(random.randrange(1 << 30))
    draw = lambda *shape: jnp.asarray(numbers.normal(size=shape) / 2, jnp.float32)  # noqa: E731
    return [{"w": draw(SIZE, SIZE), "b": draw(SIZE)} for _ in range(count)]


def shared(random: Random, rows: int) -> dict[str, Any]:
    """The arrays that layers share."""
    numbers = np.random.default_rng(random.randrange(1 << 30))
    return {
        "mask": jnp.asarray(numbers.random(SIZE) < 0.5),
        "a": jnp.ones(SIZE),
        "b": jnp.zeros(SIZE),
        "rows": jnp.asarray(numbers.normal(size=(rows + 1, SIZE)), jnp.float32),
        "key": jax.random.key(random.randrange(1 << 16)),
    }
