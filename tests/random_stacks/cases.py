"""A random program over a random nesting, with a stack and with lists, and both held against each other."""

from random import Random
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn import ArrayStacked, BlockSeq
from tests.random_stacks.layers import D, Scale, apply, build, random_spec
from tests.random_stacks.transformations import TRANSFORMATIONS, of_loop, of_stack

X = np.linspace(-0.5, 1.0, D)
FORMS = ["none", "array", "list", "stack", "taken", "in a dict", "shared", "numbers"]
USES = ["fold", "fold", "reverse", "scan", "collect", "map"]


def argument(form: str, count: int, rng: Random, numbers: np.random.Generator) -> tuple[Any, list[Any], Any]:
    """What the stack is given, what each layer of the loop is given, and the axis."""
    rows = jnp.asarray(numbers.normal(size=(count, D)))
    layers = [Scale(row, 0.5) for row in rows]
    kind = rng.choice([ArrayStacked, BlockSeq])
    if form == "array":
        return rows, list(rows), 0
    if form == "list":
        return [{"b": row, "a": 1.5} for row in rows], [{"b": row, "a": 1.5} for row in rows], 0
    if form == "numbers":
        return [0.1 * at for at in range(count)], [0.1 * at for at in range(count)], 0
    if form == "shared":
        return rows[0], [rows[0]] * count, None
    if form == "none" or count == 0:
        return None, [None] * count, 0
    stack = kind.of(layers)
    if form == "taken":
        order = rng.sample(range(count), count)
        return stack.take(order), [layers[at] for at in order], 0
    if form == "in a dict":
        given = {"n": stack, "m": rows}
        return given, [{"n": layer, "m": row} for layer, row in zip(layers, rows, strict=True)], 0
    return stack, layers, 0


def given_as_array(given: Any) -> Any:
    """What a layer makes of its argument."""
    if given is None:
        return 0.0
    if isinstance(given, Scale):
        return given(X, 0.0) * 0.1
    if isinstance(given, dict):
        return sum(given_as_array(value) for value in given.values())
    return given


def step(layer: Any, x: Any, given: Any) -> Any:
    return apply(layer, x, given_as_array(given))


def with_y(layer: Any, x: Any, given: Any) -> Any:
    new = step(layer, x, given)
    return new, (new[0] if isinstance(new, tuple) else new).sum()


def with_stack(use: str, layers: Any, x: Any, given: Any, axis: Any) -> Any:
    if use == "map":
        return layers.map_via(lambda layer, one: step(layer, x, one), in_axes=(axis,))(given)
    if use == "scan":
        return layers.scan_via(with_y, in_axes=(axis,))(x, given)
    if use == "collect":
        return layers.collect_via(with_y, in_axes=(axis,))(x, given)
    return layers.fold_via(step, in_axes=(axis,), reverse=use == "reverse")(x, given)


def with_loop(use: str, layers: list[Any], x: Any, given: list[Any]) -> Any:
    if use == "map":
        return [step(layer, x, one) for layer, one in zip(layers, given, strict=True)]
    ys = []
    pairs = list(zip(layers, given, strict=True))
    for layer, one in pairs[::-1] if use == "reverse" else pairs:
        x, y = with_y(layer, x, one)
        ys.append(y)
    return (x, jnp.stack(ys)) if use == "scan" else (x, ys) if use == "collect" else x


class Case:
    """The program with this number."""

    def __init__(self, seed: int) -> None:
        rng, numbers = Random(seed), np.random.default_rng(seed)
        self.x = jnp.asarray(X)
        self.transformation, self.use = rng.choice(TRANSFORMATIONS), rng.choice(USES)
        counted = rng.random() < 0.2
        self.check_vma = rng.random() < 0.7 and not counted  # equinox takes no state that begins to vary
        spec = random_spec(rng, rng.choice([1, 1, 2, 2, 3]), "B" if counted else "AB", counted=counted)
        made = rng.randrange(2**32)
        both = [eqx.nn.make_with_state(lambda at=at: build(spec, np.random.default_rng(made))[at])() for at in (0, 1)]
        (self.stack, own), (self.lists, others) = both
        self.states = {"stack": own, "loop": others} if counted else None
        count = len(self.lists)
        if (count == 0 and self.use in ("scan", "collect")) or (counted and self.use == "map"):
            self.use = "fold"
        self.form = rng.choice(FORMS) if count else "none"
        self.given, self.each, self.axis = argument(self.form, count, rng, numbers)
        self.name = f"{seed}: {self.transformation} of {self.use}, argument {self.form}, {spec}"

    def carry(self, of: str, x: Any) -> Any:
        """What goes through the layers: an array; or with it a state, made anew, as each may be used once."""
        return x if self.states is None else (x, jax.tree.map(lambda leaf: leaf, self.states[of]))

    def stack_applied(self, model: Any, x: Any) -> Any:
        """The program with a stack."""
        return with_stack(self.use, model, self.carry("stack", x), self.given, self.axis)

    def loop_applied(self, model: Any, x: Any) -> Any:
        """The program with a loop."""
        return with_loop(self.use, model, self.carry("loop", x), self.each)

    def loop_can(self) -> None:
        """Raises what the loop raises under the very transformation: what it cannot do, no stack need do."""
        of_stack(self.transformation, self.loop_applied, self.lists, self.x, check=self.check_vma)

    def check(self) -> None:
        """Raises AssertionError where the stack gives something else than the loop."""
        got = of_stack(self.transformation, self.stack_applied, self.stack, self.x, check=self.check_vma)
        wanted = of_loop(self.transformation, self.loop_applied, self.lists, self.x)
        assert jax.tree.structure(got) == jax.tree.structure(wanted), self.name
        for mine, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
            if callable(theirs):
                assert mine is theirs, self.name
                continue
            scale = max(1.0, float(np.max(np.abs(np.asarray(theirs)), initial=0.0)))
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10 * scale, err_msg=self.name)
