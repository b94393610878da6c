"""The layers of a loop, as built by a case: their number, and which are equal up to arrays."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import equinox as eqx

from scanify.nn.covers.cover import cheapest_cover
from scanify.nn.covers.describe import describe
from scanify.nn.trees.difference import first_difference
from scanify.verify.profile.source_loops import Loop
from scanify.verify.verdict import SeenLayers


def seen_layers(frame: FrameType, loop: Loop) -> SeenLayers | None:
    """Describe the first list of modules that a loop names, as found in its frame; None if it names none."""
    for name in loop.lists:
        layers = _modules(_value(frame, name))
        if layers:
            kinds = _kinds(layers)
            return SeenLayers(name, len(layers), len(set(kinds)), describe(cheapest_cover(kinds), kinds, layers))
    return None


def _value(frame: FrameType, dotted: str) -> Any:
    """Return the value of a dotted name, without running a property; None if it has no value."""
    first, *rest = dotted.split(".")
    value = frame.f_locals.get(first, frame.f_globals.get(first))
    for name in rest:
        if isinstance(inspect.getattr_static(type(value), name, None), property):
            return None
        value = getattr(value, name, None)
    return value


def _modules(value: Any) -> Sequence[Any]:
    if isinstance(value, eqx.nn.Sequential):
        value = value.layers
    nnx = sys.modules.get("flax.nnx")
    if nnx is not None and isinstance(value, nnx.List):
        value = list(value)
    elements = list(value.values()) if isinstance(value, dict) else value
    kinds = (eqx.Module,) if nnx is None else (eqx.Module, nnx.Module)
    if not isinstance(elements, list | tuple) or not all(_is_layer(each, kinds) for each in elements):
        return ()
    return elements


def _is_layer(value: Any, kinds: tuple[type, ...]) -> bool:
    """True for a module, and for a list of modules: the blocks of a stage."""
    of_stage = isinstance(value, list | tuple) and len(value) > 0
    return isinstance(value, kinds) or (of_stage and all(_is_layer(each, kinds) for each in value))


def _kinds(layers: Sequence[Any]) -> tuple[int, ...]:
    """Number the layers by kind: two of one kind differ in the values of arrays alone."""
    firsts: list[Any] = []
    kinds = []
    for layer in layers:
        kind = next((at for at, first in enumerate(firsts) if first_difference(first, layer) is None), len(firsts))
        if kind == len(firsts):
            firsts.append(layer)
        kinds.append(kind)
    return tuple(kinds)
