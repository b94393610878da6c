"""One program made at random: what stands before, runs of layers, and what stands after them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.jaxpr.reading.calls import children, opened
from scanify.rolling.find.program import flat
from scanify.rolling.roll import Rolled, rolled
from tests.random_rerolls.layers import SIZE, Given, Layer, params, shared
from tests.reroll.programs import lengths
from tests.soundness import evaluate

# Of these a program has as many after as before, each counted with how often its scans run it.
_COUNTED = {"name": "name", "dot_general": "precision", "custom_jvp_call": "num_consts", "optimization_barrier": ""}


@dataclass(frozen=True)
class Outcome:
    """`planted`: how many layers repeat in each run, and no more; `found`: the lengths of all scans. `wrong` says what
    is, and `doubt` why it is not proved."""

    planted: tuple[int, ...]
    near: bool
    found: tuple[int, ...]
    wrong: str = ""
    doubt: str = ""

    @property
    def missed(self) -> int:
        """How many planted runs have no scan: the first and the last layer of one may stand beside it."""
        waiting = Counter(self.found)
        missed = 0
        for count in self.planted:
            got = next((length for length in (count, count - 1, count - 2) if waiting[length]), None)
            if got is None:
                missed += 1
            else:
                waiting[got] -= 1
        return missed


class Case:
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        random = self.random = Random(seed)
        self.near = random.random() < 0.5
        self.runs: list[list[Layer]] = []
        self.planted: list[int] = []
        for _ in range(random.choice((1, 1, 2))):
            layer, count = Layer.random(random), random.randint(5, 9)
            layers = [layer] * count
            if self.near:
                layers[random.randrange(count)] = layer.near(random)
            else:
                self.planted.append(count)
            self.runs.append(layers)
        self.params = [params(random, len(layers)) for layers in self.runs]
        self.shared = shared(random, max(map(len, self.runs)))
        self.x = jnp.asarray(np.random.default_rng(seed).normal(size=(3, SIZE)), jnp.float32)
        self.zero = random.random() < 0.3

    def __call__(self, params: Any, x: Any, shared: Any) -> Any:
        """The program itself."""
        kept, caches = [], []
        carry = [jnp.sin(row) for row in x]
        for at, layers in enumerate(self.runs):
            width = len(layers[0].carries)
            values: list[Any] = carry[:width]
            if self.zero and width > 1:
                kept.append(values[-1])  # else what gave it is dead, and layers that take turns with it are not alike
                values[-1] = jnp.zeros(SIZE)
            keys = jax.random.split(jax.random.fold_in(shared["key"], at), len(layers))
            cache = jnp.zeros((len(layers), SIZE))
            for number, layer in enumerate(layers):
                given = Given(number, params[at][number], shared, keys[number], kept, cache)
                values = layer(given, values)
                cache = given.cache
            caches.append(cache)
            carry = [jnp.cos(value) for value in [*values, *carry[width:]]]
        return carry, kept, caches

    def outcome(self, *, gradients: bool) -> Outcome:
        """Whether the rolled program computes the same, bit for bit as jaxprs do."""
        leaves, tree = jax.tree.flatten((self.params, self.x, self.shared))

        def flat(*leaves: Any) -> list[Any]:
            return jax.tree.leaves(self(*jax.tree.unflatten(tree, leaves)))

        closed = jax.make_jaxpr(flat)(*leaves)
        arrays = [*closed.consts, *leaves]
        found = rolled(closed, arrays, least=3, policy=None)
        if not found.plan.rolls:
            return Outcome(tuple(self.planted), self.near, ())
        wrong = _differs(found, arrays)
        if gradients and not wrong:
            wrong = _gradient_differs(found, arrays)
        proof = found.proof()
        doubt = "" if proof.proved else str(proof.difference or proof.not_understood)
        return Outcome(tuple(self.planted), self.near, tuple(lengths(found.program)), wrong, doubt)


def _differs(found: Rolled, arrays: list[Any]) -> str:
    theirs, ours = (evaluate.of(each, arrays) for each in (found.original, found.program))
    for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if not np.array_equal(one, other, equal_nan=True):
            return f"output {at} differs by {np.max(np.abs(one - other))}"
    before = Counter[Any]()
    for operation in flat(found.original.jaxpr).operations:  # without what is dead
        before += _counted([operation.equation], 1)
    after = _counted(opened(found.program)[0].eqns, 1)
    return "" if before == after else f"it has {after} instead of {before}"


def _counted(equations: Sequence[Any], times: int) -> Counter[Any]:
    """How often what is no value is said, when the program runs."""
    found: Counter[Any] = Counter()
    for equation in equations:
        name = equation.primitive.name
        if name in _COUNTED:
            found[name, str(equation.params.get(_COUNTED[name]))] += times
        if name in ("checkpoint", "remat2"):
            found["checkpoint", str(equation.params["policy"])] += times
        for child in children(equation):
            found += _counted(opened(child)[0].eqns, times * equation.params.get("length", 1))
    return found


def _gradient_differs(found: Rolled, arrays: list[Any]) -> str:
    at = [index for index, array in enumerate(arrays) if jnp.issubdtype(array.dtype, jnp.inexact)]

    def gradient(closed: Any) -> list[Any]:
        def total(moved: list[Any]) -> Any:
            given = list(arrays)
            for index, array in zip(at, moved, strict=True):
                given[index] = array
            results = jax.core.eval_jaxpr(opened(closed)[0], closed.consts, *given)
            return sum(jnp.sum(each) for each in results if jnp.issubdtype(each.dtype, jnp.inexact))

        moved = [arrays[index] for index in at]
        return evaluate.of(jax.make_jaxpr(jax.grad(total))(moved), moved)

    for index, one, other in zip(at, gradient(found.program), gradient(found.original), strict=True):
        scale = np.max(np.abs(other), initial=1e-3)
        if not np.allclose(one, other, rtol=1e-3, atol=1e-3 * scale, equal_nan=True):
            return f"the gradient of input {index} differs by {np.max(np.abs(one - other))} of {scale}"
    return ""
