"""Shardings of arrays on a mesh: by the rule of a case for the loop version, lifted to the stacks of the other one.

A case gives them for the model of the loop version, in which each layer has its own arrays:

    def spec(path, leaf):
        if path.endswith("mlp.up.weight"):
            return P("model", None)

    gpt.shardings = spec

`path` is the name of an array in reports (`layers[3].mlp.up.weight`; for an argument of the call the name of its
parameter), `leaf` has its shape and dtype. None: a copy on every device. In a stack an array has the axes of the layers
in front, which are not sharded; with `gpt.pipeline = "stage"`, the first of them is split over that axis of the mesh,
so that each stage holds its own layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax.sharding import Mesh, NamedSharding, PartitionSpec

from scanify.errors import ScanifyError
from scanify.verify.leaves.correspond import Recipe
from scanify.verify.values.arrays import show_aval

Rule = Callable[[str, Any], Any]

EXAMPLE = 'def spec(path, leaf): return P("model", None) if path.endswith("up.weight") else None'


def specs(rule: object, names: Sequence[str], avals: Sequence[Any], mesh: Mesh) -> tuple[PartitionSpec, ...]:
    """Return the result of the rule for each array of the loop version.

    Raises ScanifyError if there is no rule, or if its result is not a PartitionSpec that fits the array and the mesh;
    and all errors of the rule.
    """
    if not callable(rule):
        came = "it has none" if rule is None else f"it is {type(rule).__name__}"
        raise ScanifyError(
            "--mesh needs to know where arrays lie: expected the case's `shardings` to be a function of the path of an "
            f"array and of the array, in the version with the loop, that answers a PartitionSpec or None; {came}. "
            f"For example\n    {EXAMPLE}\n    gpt.shardings = spec"
        )
    return tuple(_checked(rule(name, aval), name, aval, mesh) for name, aval in zip(names, avals, strict=True))


def _checked(answer: Any, name: str, aval: Any, mesh: Mesh) -> PartitionSpec:
    def wrong(what: str) -> ScanifyError:
        return ScanifyError(f"the case's `shardings` answers {answer!r} for {name}, {show_aval(aval)}: {what}")

    spec = PartitionSpec() if answer is None else answer
    if not isinstance(spec, PartitionSpec):
        raise wrong("expected a jax.sharding.PartitionSpec or None")
    if len(spec) > len(aval.shape):
        raise wrong(f"the array has {len(aval.shape)} axes")
    used: list[str] = []
    for size, part in zip(aval.shape, spec, strict=False):
        axes = () if part is None else part if isinstance(part, tuple) else (part,)
        unknown = [str(axis) for axis in axes if axis not in mesh.shape]
        if unknown:
            raise wrong(f"the mesh has no axis {unknown[0]}; it has {', '.join(map(str, mesh.shape))}")
        used += axes
        parts = 1
        for axis in axes:
            parts *= mesh.shape[axis]
        if size % parts:
            raise wrong(f"an axis of {size} cannot be cut into {parts} equal parts")
    if len(set(used)) < len(used):
        raise wrong("an axis of the mesh can shard one axis of an array alone")
    return spec


def lifted(
    found: Sequence[PartitionSpec],
    recipes: Sequence[Recipe],
    names: Sequence[str],
    mesh: Mesh,
    pipeline: object = None,
) -> list[NamedSharding]:
    """Return the shardings of a version's own arrays: those of their sources, with unsharded layer axes; the first
    layer axis is split over the axis `pipeline` of the mesh, if any.

    Raises ScanifyError if layers of one stack have different shardings, since a stack is one array with one sharding;
    and if layers cannot be split over the axis.
    """
    made = []
    for recipe in recipes:
        first = found[recipe.sources[0]]
        for source in recipe.sources[1:]:
            if _plain(found[source]) != _plain(first):
                raise ScanifyError(
                    "a stack is one array and lies in one way, but the case's `shardings` answers "
                    f"{first} for {names[recipe.sources[0]]} and {found[source]} for {names[source]}"
                )
        lead: list[Any] = [None for _ in recipe.lead]
        if lead and pipeline is not None:
            lead[0] = _stage(pipeline, recipe, first, names[recipe.sources[0]], mesh)
        own = [*first, *[None] * (max(recipe.axes, default=-1) + 1 - len(lead) - len(first))]
        made.append(NamedSharding(mesh, PartitionSpec(*recipe.with_lead(own, lead))))
    return made


def _stage(pipeline: object, recipe: Recipe, spec: PartitionSpec, name: str, mesh: Mesh) -> str:
    """Return the axis of the mesh over which the layers are split."""
    if not isinstance(pipeline, str) or pipeline not in mesh.shape:
        known = ", ".join(map(str, mesh.shape))
        raise ScanifyError(f"expected the case's `pipeline` to be an axis of the mesh ({known}), got {pipeline!r}")
    if any(pipeline in part for part in _plain(spec)):
        raise ScanifyError(
            f"the case's `pipeline` cuts layers over the axis {pipeline!r}, which its `shardings` uses for {name} "
            f"({spec}): an axis of the mesh can shard one axis of an array alone"
        )
    layers, stages = recipe.lead[0], mesh.shape[pipeline]
    if layers % stages:
        raise ScanifyError(
            f"the case's `pipeline` cuts layers over the axis {pipeline!r} of {stages} devices, but the stack that "
            f"begins with {name} has {layers} layers, which {stages} does not divide; give it a multiple of {stages}, "
            f"or a mesh whose {pipeline!r} divides {layers}"
        )
    return pipeline


def _plain(spec: PartitionSpec) -> tuple[Any, ...]:
    """Normalise a spec, so that equal ones are equal: `P("model")` and `P(("model",), None)`."""
    parts = [part if isinstance(part, tuple) else () if part is None else (part,) for part in spec]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)
