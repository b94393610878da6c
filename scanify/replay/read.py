"""Read the tables of a certificate: avals, constants, parameters and jaxprs. Anything unexpected is rejected."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from scanify.replay.form import Rejected
from scanify.replay.values import Shape, dtype_of


@dataclass(frozen=True)
class Aval:
    dtype: str
    shape: Shape


@dataclass(frozen=True)
class Constant:
    """A constant: `every` is the value of all elements, or `data` their values; both are None if it has a digest."""

    aval: Aval
    held: Aval
    data: np.ndarray[Any, Any] | None
    digest: str
    every: bytes | None = None


@dataclass(frozen=True)
class Equation:
    """An equation: `params` as JSON by name, `key` the same as text, and `inner` the numbers of the jaxprs in them."""

    name: str
    params: dict[str, Any]
    key: str
    operands: tuple[int, ...]
    outputs: tuple[Aval, ...]
    effects: bool
    inner: tuple[int, ...] = ()


@dataclass(frozen=True)
class Jaxpr:
    inputs: tuple[Aval, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Tables:
    constants: tuple[Constant, ...]
    jaxprs: tuple[Jaxpr, ...]


def read_tables(given: dict[str, Any]) -> Tables:
    """Read the tables of a case. Raises Rejected if one is malformed."""
    try:
        avals = [Aval(str(dtype), _shape(shape)) for dtype, shape in given["avals"]]
        constants = tuple(_constant(each, avals) for each in given["constants"])
        params = [(dict(each), json.dumps(each, sort_keys=True), tuple(jaxprs_in(each))) for each in given["params"]]
        jaxprs = []
        for number, each in enumerate(given["jaxprs"]):
            jaxprs.append(_jaxpr(each, avals, params, len(constants), number))
        return Tables(constants, tuple(jaxprs))
    except (KeyError, IndexError, TypeError, ValueError, binascii.Error) as error:
        raise Rejected(f"a table of the certificate is not as it has to be: {type(error).__name__}: {error}") from None


def jaxprs_in(spelled: Any) -> list[int]:
    """Return the numbers of the jaxprs in a parameter."""
    if isinstance(spelled, dict):
        if set(spelled) == {"jaxpr"}:
            return [int(spelled["jaxpr"])]
        return [found for each in spelled.values() for found in jaxprs_in(each)]
    return [found for each in spelled for found in jaxprs_in(each)] if isinstance(spelled, list) else []


def _shape(given: list[Any]) -> Shape:
    if not all(type(size) is int and size >= 0 for size in given):
        raise ValueError(f"{given} is no shape")
    return tuple(given)


def _at(things: list[Any], number: Any) -> Any:
    if type(number) is not int or not 0 <= number < len(things):
        raise ValueError(f"there is no number {number}")
    return things[number]


def _constant(given: list[Any], avals: list[Aval]) -> Constant:
    number, dtype, shape, how, text = given
    held = Aval(dtype, _shape(shape))
    if how == "sha256":
        return Constant(_at(avals, number), held, None, str(text))
    kind = dtype_of(held.dtype)
    if kind is None:
        raise ValueError(f"constants of dtype {held.dtype} are not known")
    if how == "all":
        scalar = bytes.fromhex(text)
        if len(scalar) != kind.itemsize:
            raise ValueError(f"{text} is no number of dtype {held.dtype}")
        return Constant(_at(avals, number), held, None, "", scalar)
    if how != "bytes":
        raise ValueError(f"constants are not written as {how}")
    data = np.frombuffer(base64.b64decode(text, validate=True), kind).reshape(held.shape)
    return Constant(_at(avals, number), held, data, "")


def _jaxpr(given: list[Any], avals: list[Aval], params: list[Any], constants: int, number: int) -> Jaxpr:
    inputs, equations, outputs = given
    known, found = len(inputs), []
    for name, param, operands, made, *effects in equations:
        for operand in operands:
            _known(operand, known, constants)
        spelled, key, inner = _at(params, param)
        if any(not 0 <= each < number for each in inner):
            raise ValueError(f"jaxpr {number} holds one that comes after it")
        if effects not in ([], [True]):
            raise ValueError("effects are said by true alone")
        aval = tuple(_at(avals, each) for each in made)
        found.append(Equation(str(name), spelled, key, tuple(operands), aval, bool(effects), inner))
        known += len(made)
    for operand in outputs:
        _known(operand, known, constants)
    return Jaxpr(tuple(_at(avals, each) for each in inputs), tuple(found), tuple(outputs))


def _known(operand: Any, known: int, constants: int) -> None:
    if type(operand) is not int or not -constants <= operand < known:
        raise ValueError(f"operand {operand} is not known where it is used")
