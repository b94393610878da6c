"""The arguments of the model's call: candidates for each parameter, likeliest first."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from scanify.propose.values.annotations import array_shape, is_key, plain, union
from scanify.propose.values.arrays import MASK, TOKENS, array_text, shaped_text
from scanify.propose.values.choose import Chooser, is_config
from scanify.propose.values.expression import Expression, Text
from scanify.propose.values.names import GiveUp
from scanify.propose.values.signature import Parameter

_MOST = 48

_IMAGE = re.compile(r"(\w+_)?(image|img|images|imgs|pixels|pixel_values|frame)")
_SCALAR = re.compile(r"t|ts?tep|time|timestep|sigma|noise_level|step")
_STATE = re.compile(r"state")
_FLAG = re.compile(r"(is_)?(train|training|inference|deterministic)|(enable|use|return)_\w+")


@dataclass(frozen=True)
class Argument:
    """One argument of the call. `key` is None, "needed", or "optional" if the key may be None.

    The source of a key or a state is a name that the case binds itself.
    """

    name: str
    keyword: bool
    value: Expression
    key: str | None = None
    state: bool = False


Arguments = tuple[Argument, ...]


def candidates(parameters: tuple[Parameter, ...], chooser: Chooser) -> Iterator[Arguments]:
    """Yield lists of arguments, those with the likeliest candidates first, at most a few dozen. Raises GiveUp."""
    lists = [found for i, each in enumerate(parameters) if (found := _for_parameter(each, chooser, i + 2))]
    places = itertools.product(*(range(len(each)) for each in lists))
    ranked = sorted(itertools.islice(places, 20_000), key=lambda place: (sum(place), place))
    for place in ranked[:_MOST]:
        chosen = [each[i] for each, i in zip(lists, place, strict=True)]
        yield tuple(one for one in chosen if one is not None)


def _for_parameter(parameter: Parameter, chooser: Chooser, seed: int) -> list[Argument | None]:
    name, annotation = parameter.name, parameter.annotation
    by_keyword = parameter.keyword or not (parameter.required or parameter.positional)
    blank = Argument(name, by_keyword, Text(name))
    if is_state(parameter):
        return [replace(blank, value=Text("state"), state=True)] if parameter.required or chooser.state else []
    if is_key(annotation, name):
        optional = parameter.default is None or type(None) in union(annotation)
        given: list[Argument | None] = [replace(blank, value=Text("key"), key="optional" if optional else "needed")]
        return given if parameter.required else [*given, None]
    if not parameter.required:
        return []
    options = [each for each in union(annotation) if each is not type(None)]
    values: list[Expression] = []
    failed: GiveUp | None = None
    for option in options or [None]:
        try:
            values += _values(name, plain(option), chooser, seed)
        except GiveUp as error:
            failed = error
    if type(None) in union(annotation):
        values.append(Text("None", label="None"))
    if not values:
        raise failed or GiveUp(f"argument `{name}` of the call has a type for which no value is known")
    return [replace(blank, value=value) for value in values]


def is_state(parameter: Parameter) -> bool:
    """True if a parameter of the call is the `eqx.nn.State` made by `eqx.nn.make_with_state`."""
    import equinox as eqx

    options = union(parameter.annotation)
    return eqx.nn.State in options or (not options and _STATE.fullmatch(parameter.name) is not None)


def _values(name: str, kind: Any, chooser: Chooser, seed: int) -> list[Expression]:
    if kind is bool or (kind is None and _FLAG.fullmatch(name)):
        return [Text("False", label="False"), Text("True", label="True")]
    if kind is float:
        return [Text("0.5", label="0.5")]
    simple = chooser.simple(name, kind)
    if simple is not None:
        return [simple]
    shape = array_shape(kind)
    if shape is not None and shape.dims is not None and shape.kind is not None:
        return list(_annotated(name, shape.kind, shape.dims, shape.variadic, chooser, seed))
    if shape is not None or kind is None or kind is Any or isinstance(kind, str):
        forced = shape.kind if shape is not None else None
        return list(_guesses(name, forced, chooser, seed))
    if is_config(kind):
        return [chooser.construct(kind)]
    found = chooser.value(Parameter(name, kind), (type("the call", (), {}),))
    return [found]


def _annotated(
    name: str, kind: str, dims: tuple[str, ...], variadic: int | None, chooser: Chooser, seed: int
) -> Iterator[Text]:
    """Yield arrays for a jaxtyping shape. A variadic `*batch` may be empty, a sequence, or a batch of sequences."""
    fillings: tuple[tuple[str, ...], ...] = ((),)
    if variadic is not None:
        fillings = ((), ("length",), ("batch", "length")) if dims else (("length",), ("batch", "length"), ())
    for filling in fillings:
        at = variadic or 0
        yield array_text(name, kind, (*dims[:at], *filling, *dims[at:]), chooser.sizes, seed=seed)


def _guesses(name: str, kind: str | None, chooser: Chooser, seed: int) -> Iterator[Text]:
    """Yield the usual input shapes, sorted by how well they fit the name and the model's sizes."""
    sizes, lower = chooser.sizes, name.lower()
    named = any(pattern.fullmatch(lower) for pattern in (MASK, TOKENS, _SCALAR))
    for first in () if named else chooser.first:
        yield shaped_text(name, *first, sizes, seed=seed)
    widths = [each for each in ("inputs", "dim") if sizes.has(each)]
    widths += [each for each in sizes.variables if each not in ("inputs", "dim") and _is_width(each)]
    widths = widths or ["dim"]
    tokens = [("int", ("length",)), ("int", ("batch", "length"))]
    images = [("float", ("channels", "size", "size")), ("float", ("batch", "channels", "size", "size"))]
    images.append(("float", ("size", "size", "channels")))
    rows = [("float", ("length", each)) for each in widths] + [("float", (each,)) for each in widths]
    batches = [("float", ("batch", "length", each)) for each in widths] + [
        ("float", ("batch", each)) for each in widths
    ]
    signals = [("float", ("channels", "length")), ("float", ("length", "channels"))]
    signals += [("float", (each, "length")) for each in widths]
    scalars: list[tuple[str, tuple[str, ...]]] = [("float", ())]
    found: list[tuple[str, tuple[str, ...]]] = [*rows, *batches, *signals, *images, *tokens, *scalars, ("int", ())]
    if MASK.fullmatch(lower):
        found = [("bool", ("length", "length")), ("bool", ("length",)), ("bool", ("batch", "length")), *found]
    elif _SCALAR.fullmatch(lower):
        found = [*scalars, ("int", ()), *found]
    elif TOKENS.fullmatch(lower) or sizes.has("vocab"):
        found = [*tokens, *found]
    elif _IMAGE.fullmatch(lower) or sizes.has("size"):
        found = [*images, *found]
    elif sizes.has("channels"):
        found = [*images, *signals, *found]
    for each, dims in dict.fromkeys(found):
        if kind is None or each == kind:
            # Sizes that the model does not use become parameters of the case only if this candidate is chosen.
            yield shaped_text(name, each, dims, sizes, seed=seed)


def _is_width(variable: str) -> bool:
    return re.fullmatch(r"\w*(dim|size|width|features|channels)_?", variable) is not None
