"""Both versions as traced programs of the same leaves: the leaves of the original model and of the arguments.

The rewritten version stacks the leaves first, by its recipes. Its gradients are those of its own leaves, split again
for the leaves of the original: each leaf of the original is in exactly one place, so this is the same derivative, and
residuals are not mixed with the stacking.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, jaxprs_in_params

from scanify.nn import remat_policy_override
from scanify.nn.covers.apply_cover import MAPPED
from scanify.verify.cases.build import Built
from scanify.verify.compare.written import Watch
from scanify.verify.leaves.aliases import has_aliases, rebuilt
from scanify.verify.leaves.correspond import Recipe, Slot
from scanify.verify.programs.apart import traced_apart
from scanify.verify.programs.flat import flat_outputs
from scanify.verify.values.arrays import is_inexact, is_traced, struct

Policy = str | bool | None

_COUNT = itertools.count()


@dataclass(frozen=True, eq=False)
class Version:
    """One version as a function. `recipes` describe its own array leaves by the leaves of the original.

    `shared` is the built pytree if the same list or dict occurs in it more than once. `name` is unique in this process.
    `optimizer` is the optimizer of its case.
    """

    treedef: Any
    others: tuple[Any, ...]
    recipes: tuple[Recipe, ...]
    shared: Any = None
    name: str = field(default_factory=lambda: f"version {next(_COUNT)}")
    optimizer: Any = None

    def own(self, leaves: Sequence[Any]) -> list[Any]:
        """Build this version's array leaves from the leaves of the original."""
        return [_assemble([leaves[i] for i in recipe.sources], recipe) for recipe in self.recipes]

    def split(self, own: Sequence[Any | None]) -> list[Any | None]:
        """The inverse of `own`: values for the leaves of the original; None for a leaf whose stack has None."""
        found: dict[int, Any] = {}
        for recipe, value in zip(self.recipes, own, strict=True):
            for at, source in enumerate(recipe.sources):
                found[source] = None if value is None else _take(value, recipe, at)
        return [found[i] for i in range(len(found))]

    def tree(self, own: Sequence[Any]) -> Any:
        """Return `(model, args, kwargs)` with its own array leaves."""
        arrays = iter(own)
        leaves = [next(arrays) if other is _ARRAY else other for other in self.others]
        return jax.tree.unflatten(self.treedef, leaves) if self.shared is None else rebuilt(self.shared, leaves)

    def arrays(self, model: Any, own: Sequence[Any]) -> list[Any]:
        """Return its own array leaves, taking the model's leaves from `model`."""
        leaves = jax.tree.leaves(model)
        count = sum(other is _ARRAY for other in self.others[: len(leaves)])
        changed = [leaf for leaf, other in zip(leaves, self.others, strict=False) if other is _ARRAY]
        return [*changed, *own[count:]]

    def call(self, own: Sequence[Any]) -> Any:
        """Call the model on its own array leaves. Its writes to its arguments are part of the result (`Written`)."""
        return contextvars.copy_context().run(self._called, own)

    def _called(self, own: Sequence[Any]) -> Any:
        model, args, kwargs = self.tree(own)
        watch = Watch(model, args, kwargs)
        try:
            return watch.result(model(*args, **kwargs))
        finally:
            watch.undo()


_ARRAY = object()


def version(built: Built, recipes: Sequence[Recipe] | None = None) -> Version:
    """Return the result of a case as a function of leaves: its own, unless recipes derive them from others."""
    leaves, treedef = jax.tree.flatten(built.tree)
    others = tuple(_ARRAY if is_traced(leaf) else leaf for leaf in leaves)
    if recipes is None:
        recipes = [Recipe((i,)) for i in range(sum(other is _ARRAY for other in others))]
    shared = built.tree if has_aliases(built.tree) else None
    return Version(treedef, others, tuple(recipes), shared, optimizer=built.optimizer)


def _assemble(parts: Sequence[Any], recipe: Recipe) -> Any:
    whole = _stacked(parts, recipe.lead)
    return jnp.moveaxis(whole, range(len(recipe.axes)), recipe.axes) if recipe.axes else whole


def _stacked(parts: Sequence[Any], lead: tuple[int, ...]) -> Any:
    if not lead:
        return parts[0]
    size = len(parts) // lead[0]
    return jnp.stack([_stacked(parts[i * size : (i + 1) * size], lead[1:]) for i in range(lead[0])])


def _take(value: Any, recipe: Recipe, at: int) -> Any:
    if isinstance(value, bool):  # applies to the whole leaf
        return value
    axes = recipe.axes or tuple(range(len(recipe.lead)))
    if isinstance(value, jax.ShapeDtypeStruct):
        shape = [size for axis, size in enumerate(value.shape) if axis not in axes]
        return jax.ShapeDtypeStruct(shape, value.dtype, weak_type=value.weak_type)
    if isinstance(value, np.ndarray):
        value = np.moveaxis(value, axes, range(len(axes)))
        return value[np.unravel_index(at, recipe.lead)] if axes else value
    if recipe.axes:
        value = jnp.moveaxis(value, axes, range(len(axes)))
    for i in np.unravel_index(at, recipe.lead) if axes else ():
        value = jax.lax.index_in_dim(value, int(i), keepdims=False)
    return value


@dataclass(frozen=True, eq=False)
class Outputs:
    """The result of a call: the pytree with a `correspond.Slot` for each array, and the avals of the arrays."""

    tree: Any
    avals: tuple[jax.ShapeDtypeStruct, ...]

    @property
    def names(self) -> tuple[str, ...]:
        found = jax.tree_util.tree_leaves_with_path(self.tree)
        slots = {leaf.index: path for path, leaf in found if isinstance(leaf, Slot)}
        return tuple(f"output{jax.tree_util.keystr(slots[index])}" for index in range(len(slots)))

    @property
    def inexact(self) -> tuple[int, ...]:
        return tuple(i for i, aval in enumerate(self.avals) if is_inexact(aval))


@dataclass(frozen=True, eq=False)
class Traced:
    """One version under one policy.

    `forward`: leaves -> outputs. `gradient`: leaves, cotangents of the inexact outputs -> gradients of the inexact
    leaves. `training` is the same program with the outputs as computed on the way: under differentiation a function
    with custom rules may give other values. `residuals`: values kept on the device between forward and backward, except
    inputs, constants and views of them. If reverse mode raises, as through a `while_loop`, `gradient` is None and
    `raised` the message.
    """

    forward: ClosedJaxpr
    gradient: ClosedJaxpr | None
    outputs: Outputs
    residuals: tuple[jax.ShapeDtypeStruct, ...]
    seconds: float
    raised: str = ""
    training: ClosedJaxpr | None = None

    @property
    def saved_bytes(self) -> int | None:
        """Return the bytes of the residuals; None without a gradient."""
        if self.gradient is None:
            return None
        total: int = sum(math.prod(aval.shape) * aval.dtype.itemsize for aval in self.residuals)
        return total


@contextlib.contextmanager
def under(policy: Policy, program: Version) -> Iterator[None]:
    """Trace a version with every `ArrayStacked` under this remat policy; None keeps the written ones."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(traced_apart(f"{program.name} {policy!r}"))
        stack.enter_context(remat_policy_override(policy))
        yield


def differentiated(avals: Sequence[Any]) -> tuple[int, ...]:
    """Return the indices of the leaves with gradients."""
    return tuple(i for i, aval in enumerate(avals) if is_inexact(aval))


def trace(
    program: Version,
    avals: Sequence[jax.ShapeDtypeStruct],
    policy: Policy = None,
    watching: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> Traced:
    """Trace a version as a function of leaves of these avals, with the forward call under `watching`.

    Raises all errors of the user's code in the forward pass.
    """
    start = time.perf_counter()
    seen: list[Any] = []

    def forward(leaves: Sequence[Any]) -> list[Any]:
        arrays, tree = flat_outputs(program.call(program.own(leaves)))
        seen[:] = [tree]
        return arrays

    with under(policy, program):
        with watching():
            first = jax.make_jaxpr(forward)(list(avals))
        outputs = Outputs(seen[0], tuple(struct(aval) for aval in first.out_avals))
        cotangents = [jax.ShapeDtypeStruct(*_form(outputs.avals[i])) for i in outputs.inexact]
        try:
            whole = jax.make_jaxpr(lambda leaves, cts: _gradient(program, leaves, cts))(list(avals), cotangents)
        except Exception as error:  # the call may not support differentiation
            said = f"{type(error).__name__}: {error}".strip().splitlines()[0]
            return Traced(first, None, outputs, (), time.perf_counter() - start, said)
    grads, own = len(differentiated(avals)), len(program.recipes)
    values = grads + len(outputs.avals)
    tail = whole.jaxpr.outvars[values:]
    residuals = _residuals(whole, tail[own:], tail[:own])
    seconds = time.perf_counter() - start
    return Traced(first, _keep(whole, grads), outputs, residuals, seconds, training=_keep(whole, values))


def _form(aval: jax.ShapeDtypeStruct) -> tuple[tuple[int, ...], Any]:
    return aval.shape, aval.dtype


def vjp(
    program: Version, own: Sequence[Any], at: Sequence[int] | None = None, used: Sequence[int] | None = None
) -> tuple[list[Any], Any]:
    """Return the arrays of a call and the pullback: cotangents of the inexact ones -> gradients of the own leaves `at`.

    Without `at`, of all inexact leaves. With `used`, cotangents of these arrays alone: the others' are symbolic zeros,
    as if a loss does not read them.
    """
    at = differentiated(own) if at is None else at

    def inner(*moved: Any) -> tuple[list[Any], list[Any]]:
        leaves = list(own)
        for i, leaf in zip(at, moved, strict=True):
            leaves[i] = leaf
        arrays, _ = flat_outputs(program.call(leaves))
        return [x for i, x in enumerate(arrays) if is_inexact(x) and (used is None or i in used)], arrays

    _, pull, arrays = jax.vjp(inner, *(own[i] for i in at), has_aux=True)
    return arrays, pull


def gradients(
    program: Version,
    leaves: Sequence[Any],
    cotangents: Sequence[Any],
    only: Sequence[int] | None = None,
    used: Sequence[int] | None = None,
) -> list[Any]:
    """Return the gradients of the original's inexact leaves, or of `only` these, and then the outputs on the way. There
    is a cotangent for each inexact output, or for each of those in `used`."""
    own = program.own(leaves)
    wanted = set(range(len(leaves)) if only is None else only)
    at = [i for i in differentiated(own) if program.recipes[i].sources[0] in wanted]
    arrays, pull = vjp(program, own, at, used)
    return [*shared_gradients(program, own, at, pull(list(cotangents))), *arrays]


def shared_gradients(program: Version, own: Sequence[Any], at: Sequence[int], grads: Sequence[Any]) -> list[Any]:
    """Return the gradients of the leaves that both versions share, from gradients of the own leaves `at`."""
    placed: list[Any | None] = [None] * len(own)
    for i, grad in zip(at, grads, strict=True):
        placed[i] = grad
    return [grad for grad in program.split(placed) if grad is not None]


def _gradient(program: Version, leaves: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Return gradients of the original's leaves, the outputs on the way, the own leaves, and pullback residuals."""
    own = program.own(leaves)
    arrays, pull = vjp(program, own)
    grads = shared_gradients(program, own, differentiated(own), pull(list(cotangents)))
    return [*grads, *arrays, *own, *(leaf for leaf in jax.tree.leaves(pull) if is_traced(leaf))]


def _keep(closed: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """Return the same program with its first outputs only."""
    info = closed.jaxpr.debug_info
    if info.result_paths is not None:
        info = info._replace(result_paths=info.result_paths[:count])
    return ClosedJaxpr(closed.jaxpr.replace(outvars=closed.jaxpr.outvars[:count], debug_info=info), closed.consts)


# Operations that XLA does without a copy: another shape or order of the same elements.
_VIEWS = frozenset({"reshape", "squeeze", "expand_dims", "transpose", "copy", "copy_p"})


def _residuals(closed: ClosedJaxpr, held: Sequence[Any], own: Sequence[Any]) -> tuple[jax.ShapeDtypeStruct, ...]:
    """Return the held values, except inputs, constants and views of them, such as chunks of nested scans."""
    jaxpr = closed.jaxpr
    given = {id(var) for var in (*jaxpr.invars, *jaxpr.constvars, *own)}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in _VIEWS and id(eqn.invars[0]) in given:
            given.add(id(eqn.outvars[0]))
    found = {id(var): var for var in held if not isinstance(var, Literal) and id(var) not in given}
    found = {key: var for key, var in found.items() if getattr(var.aval, "memory_space", None) != jax.memory.Space.Host}
    return tuple(struct(var.aval) for var in found.values())


def count_scans(closed: ClosedJaxpr) -> int:
    """Count the `scan` equations of a program, including nested ones."""

    def count(jaxpr: Any) -> int:
        inner: int = sum(count(sub) for eqn in jaxpr.eqns for sub in jaxprs_in_params(eqn.params))
        return inner + sum(1 for eqn in jaxpr.eqns if eqn.primitive.name == "scan")

    return count(closed.jaxpr)


def maps_layers(closed: ClosedJaxpr) -> bool:
    """True if a program applies several independent layers at once, as `map_via` and `vmap_via` do."""

    def any_of(jaxpr: Any) -> bool:
        inside = (sub for eqn in jaxpr.eqns for sub in jaxprs_in_params(eqn.params))
        return any(MAPPED in str(eqn.source_info.name_stack) for eqn in jaxpr.eqns) or any(map(any_of, inside))

    return any_of(closed.jaxpr)
