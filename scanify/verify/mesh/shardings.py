"""Where arrays lie on a mesh: by the rule of a case for the loop version, lifted to the stacks of the other one.

A case says it of the model as it stands in the loop version, where each layer has arrays of its own:

    def spec(path, leaf):
        if path.endswith("mlp.up.weight"):
            return P("model", None)

    gpt.shardings = spec

`path` is what reports call an array (`layers[3].mlp.up.weight`; of an argument of the call the name of its parameter),
`leaf` has its shape and dtype. None: a copy on every device. In a stack an array has the axes of the layers in front,
which are not sharded; where the case asks for it (`gpt.pipeline = "stage"`), the first of them is cut over that axis of
the mesh, so that each stage holds its own layers.
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
    """What the rule says of each array of the loop version.

    Raises ScanifyError where there is no rule, or where what it says is no PartitionSpec that fits the array and the
    mesh; and whatever the rule raises.
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
    """The shardings of a version's own arrays: those of what they are made of, the axes of layers unsharded, but for
    the first one over the axis `pipeline` of the mesh, where there is one.

    Raises ScanifyError where layers of one stack lie differently, as a stack is one array and lies in one way; and
    where they cannot lie over the axis.
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
    """The axis of the mesh that the layers are cut over."""
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
    """What means the same is the same: `P("model")` and `P(("model",), None)`."""
    parts = [part if isinstance(part, tuple) else () if part is None else (part,) for part in spec]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)
