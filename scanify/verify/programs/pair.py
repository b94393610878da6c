"""Both versions of one case, ready to be traced: the leaves they share, with their names."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from typing import Any

import jax

from scanify.errors import ScanifyError
from scanify.verify.cases.build import Built
from scanify.verify.cases.mapping import given_recipes
from scanify.verify.leaves.apart import apart, turned
from scanify.verify.leaves.correspond import Correspondence, Mismatch, Recipe, correspond, unseen_in_common
from scanify.verify.leaves.infer import infer
from scanify.verify.leaves.paths import named
from scanify.verify.linen.match import matched
from scanify.verify.linen.model import LinenModel
from scanify.verify.programs.trace import Version, version
from scanify.verify.values.arrays import struct


@dataclass(frozen=True, eq=False)
class Pair:
    """`leaves` and `avals` belong to the original, or to its layers (`Correspondence.before`); `inputs` are the indices
    of those that are arguments of the call."""

    before: Version
    after: Version
    found: Correspondence
    leaves: tuple[Any, ...]
    avals: tuple[jax.ShapeDtypeStruct, ...]
    inputs: tuple[int, ...]


def pair(before: Built, after: Built) -> Pair | Mismatch:
    """Match the leaves of both versions; a Mismatch if the models have different structures.

    The models are walked together; if they differ, or if the case gives a mapping, their leaves are matched one by one.
    Raises ScanifyError if the mapping is wrong, or if the arguments of the call differ in more than the values of
    arrays.
    """
    parameters = positional(before.tree[0])
    found = _matched(before, after)
    if isinstance(found, Mismatch):
        parted = Mismatch(named(found.path, parameters), found.text)
        if not found.path.startswith("[0]"):
            raise _unlike(parted)
        return parted
    for part in found.statics:
        if not part.path.startswith("[0]"):
            raise _unlike(dataclasses.replace(part, path=named(part.path, parameters)))
    inputs = tuple(i for i, name in enumerate(found.names) if not name.startswith("[0]"))
    found = dataclasses.replace(
        found,
        names=tuple(named(name, parameters) for name in found.names),
        layers=tuple(None if i in inputs else layer for i, layer in enumerate(found.layers)),
        statics=tuple(dataclasses.replace(part, path=named(part.path, parameters)) for part in found.statics),
    )
    first = version(before, found.before)
    leaves = tuple(first.split(before.arrays))
    both = Pair(first, version(after, found.recipes), found, leaves, tuple(map(struct, leaves)), inputs)
    odd = (*found.statics, *_weak(both, after), *_other_library(both, before, after))
    return dataclasses.replace(both, found=dataclasses.replace(found, statics=odd))


def _matched(before: Built, after: Built) -> Correspondence | Mismatch:
    if isinstance(before.tree[0], LinenModel) and isinstance(after.tree[0], LinenModel):
        linen = matched(before.tree[0], after.tree[0])
        rest = correspond((None, *before.tree[1:]), (None, *after.tree[1:]))
        if isinstance(linen, Mismatch):
            return dataclasses.replace(linen, path=f"[0].{linen.path}")
        return rest if isinstance(rest, Mismatch) else _joined(linen, rest)
    found = correspond(before.tree, after.tree) if after.mapping is None else Mismatch("[0]", "")
    if isinstance(found, Correspondence) or not found.path.startswith("[0]"):
        return found
    models = before.tree[0], after.tree[0]
    model = infer(*models, None if after.mapping is None else given_recipes(*models, after.mapping))
    if isinstance(model, str):
        whole = None if after.mapping is not None else apart(before.tree, after.tree)
        if whole is not None:
            return whole
        by_hand = None if after.mapping is not None else turned(*models)
        if by_hand is None:
            return Mismatch(found.path, f"{found.text}; leaf by leaf, {model}" if found.text else model)
        model = by_hand
    rest = correspond((None, *before.tree[1:]), (None, *after.tree[1:]))
    if isinstance(rest, Mismatch):
        return rest
    joined = _joined(model, rest)
    return dataclasses.replace(joined, statics=(*unseen_in_common(before.tree[:1], after.tree[:1]), *joined.statics))


def _joined(model: Correspondence, rest: Correspondence) -> Correspondence:
    """Join the leaves of the model with the leaves of the call's arguments, which follow them."""
    count = len(model.names)
    moved = [
        dataclasses.replace(each, sources=tuple(count + source for source in each.sources)) for each in rest.recipes
    ]
    own = None if model.before is None else (*model.before, *(Recipe((count + i,)) for i in range(len(rest.names))))
    return dataclasses.replace(
        model,
        names=(*(f"[0]{name}" if name.startswith("[") else f"[0].{name}" for name in model.names), *rest.names),
        layers=(*model.layers, *rest.layers),
        recipes=(*model.recipes, *moved),
        before=own,
        statics=rest.statics,
    )


def _weak(both: Pair, after: Built) -> list[Mismatch]:
    """Find leaves that are weakly typed in one version only: sums with them may then have another dtype."""
    made = jax.eval_shape(lambda leaves: both.after.own(leaves), list(both.avals))
    odd = []
    for recipe, ours, held in zip(both.found.recipes, made, map(struct, after.arrays), strict=True):
        if ours.weak_type != held.weak_type:
            words = ["weakly typed" if aval.weak_type else "not weakly typed" for aval in (ours, held)]
            text = f"{words[0]} in the original, {words[1]} in the rewritten version"
            odd.append(Mismatch(both.found.names[recipe.sources[0]], text))
    return odd


def _other_library(both: Pair, before: Built, after: Built) -> list[Mismatch]:
    """Find parameters that are NumPy arrays in one version only, which training may skip."""
    odd = []
    own, now_is = (each.numpy or (False,) * len(each.arrays) for each in (before, after))
    was = both.before.split(own)
    for recipe, now in zip(both.found.recipes, now_is, strict=True):
        for source in recipe.sources:
            if was[source] is not now and source not in both.inputs:
                words = [f"an array of {'NumPy' if numpy else 'jax'}" for numpy in (was[source], now)]
                text = f"{words[0]} in the original, {words[1]} in the rewritten version"
                odd.append(Mismatch(both.found.names[source], text))
    return odd


def _unlike(part: Mismatch) -> ScanifyError:
    how = "they differ at" if part.certain else "these are not seen to be the same:"
    return ScanifyError(f"the case must call both versions with the same arguments, but {how} {part}")


def positional(model: Any) -> list[str]:
    """Return the names of the parameters for positional arguments of the call, as far as the signature shows."""
    try:
        parameters = inspect.signature(model).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
