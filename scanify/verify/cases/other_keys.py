"""Building both models from other random keys than those that the case makes, and from other random bits.

A constructor that does not read the key that it is given, or reads it otherwise, may give the same parameters for the
one key of the case. Only keys that the case makes are others: one that the model makes by itself is part of the model.
What a constructor does to a rare number, as to clip it, shows with bits that hardly a key gives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.verify.programs.apart import traced_apart
from scanify.verify.values.arrays import is_key

_Numbers = np.ndarray[Any, Any]
Bits = Callable[[_Numbers], _Numbers]

# What is drawn in place of random bits; a function of each number, so that a batch of draws is as its parts.
EXTREME: tuple[Bits, ...] = (
    lambda bits: bits * 0,
    lambda bits: ~(bits * 0),
    lambda bits: np.where(bits % 2 == 0, bits * 0, ~(bits * 0)),
    lambda bits: np.where(bits % 8 == 0, bits * 0, np.where(bits % 8 == 1, ~(bits * 0), bits)),
)
# Modules of jax that functions of jax and users take `while_loop` from.
_LOOPS = "jax.lax", "jax._src.lax.control_flow"
# A float32 has so many bits that a draw may have alike at its front.
_TAIL = 24


def _tail(front: int, low: int) -> Bits:
    """Numbers that begin with so many zeros if their last bit is `low`, and others with so many ones."""
    return lambda bits: np.where(bits % 2 == low, bits >> front, ~(bits >> front))


TAILS = tuple(_tail(front, low) for front in range(1, _TAIL) for low in (0, 1))


@dataclass(frozen=True)
class Keys:
    """What is added to the seeds of keys, int32[], and what is drawn in place of random bits (None: themselves)."""

    shift: Any
    bits: Bits | None = None


class _Drawn:
    """What is drawn now: programs are compiled once for all `bits`."""

    bits: Bits | None = None

    @classmethod
    def instead(cls, bits: Any) -> _Numbers:
        numbers = np.asarray(bits)
        return numbers if cls.bits is None else cls.bits(numbers).astype(numbers.dtype)


@dataclass(eq=False)
class Shifted:
    """Whether a key was made otherwise."""

    any: bool = False


@contextmanager
def other_keys(
    namespace: MutableMapping[str, Any], is_models: Callable[[FrameType], bool], keys: Keys
) -> Iterator[Shifted]:
    """Inside, keys that are made are others, and so are those that `namespace`, that of the case file, holds.

    Those are left alone that are made while a frame runs that `is_models` says to belong to the model. Bits that a loop
    of unknown length draws are left alone, too: it may go on until it likes one.
    """
    made = Shifted()
    module: Any = getattr(sys.modules[jax.random.key.__module__], "prng", None)
    seed, draw = (getattr(module, name, None) for name in ("random_seed", "random_bits"))
    held = {name: value for name, value in namespace.items() if _is_key(value)}

    def other(seeds: Any, *args: Any, **kwargs: Any) -> Any:
        assert seed is not None
        if _runs(sys._getframe(1), is_models):
            return seed(seeds, *args, **kwargs)
        made.any = True
        return seed(_shifted(jnp.asarray(seeds), keys), *args, **kwargs)

    def drawn(*args: Any, **kwargs: Any) -> Any:
        assert draw is not None
        bits = draw(*args, **kwargs)
        if keys.bits is None or _runs(sys._getframe(1), _is_while):
            return bits
        like = jax.ShapeDtypeStruct(bits.shape, bits.dtype)
        return jax.pure_callback(_Drawn.instead, like, bits, vmap_method="broadcast_all")

    def looped(*args: Any, **kwargs: Any) -> Any:
        with traced_apart("bits of a loop"):  # where a program that was traced outside draws other bits
            return loop(*args, **kwargs)

    holders: list[Any] = [sys.modules[name] for name in _LOOPS if hasattr(sys.modules.get(name), "while_loop")]
    loop = holders[0].while_loop
    _Drawn.bits = keys.bits
    made.any = bool(held)
    namespace.update({name: moved(value, keys) for name, value in held.items()})
    if seed is not None and draw is not None:
        module.random_seed, module.random_bits = other, drawn
    for each in holders if keys.bits is not None else ():
        each.while_loop = looped
    try:
        yield made
    finally:
        namespace.update(held)
        for each in holders:
            each.while_loop = loop
        if seed is not None and draw is not None:
            module.random_seed, module.random_bits = seed, draw


def _shifted(value: jax.Array, keys: Keys) -> jax.Array:
    return value + jnp.asarray(keys.shift, value.dtype)


def moved(value: Any, keys: Keys) -> Any:
    """Another key of the same kind; anything else is itself."""
    if is_key(value):
        data = _shifted(jax.random.key_data(value), keys)
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(value))
    return _shifted(value, keys) if _is_key(value) else value


def moved_in(arguments: Mapping[str, Any], keys: Keys) -> tuple[dict[str, Any], bool]:
    """The arguments of a case, with other keys; and whether one of them is a key."""
    made = {name: jax.tree.map(lambda each: moved(each, keys), value) for name, value in arguments.items()}
    return made, any(map(_is_key, jax.tree.leaves(dict(arguments))))


def _is_key(value: Any) -> bool:
    """A typed key, or what looks as raw keys do."""
    return is_key(value) or (isinstance(value, jax.Array) and value.dtype == np.uint32 and value.shape in ((2,), (4,)))


def _is_while(frame: FrameType) -> bool:
    return frame.f_code.co_name == "while_loop" and str(frame.f_globals.get("__name__")).startswith("jax.")


def _runs(frame: FrameType | None, is_models: Callable[[FrameType], bool]) -> bool:
    while frame is not None:
        if is_models(frame):
            return True
        frame = frame.f_back
    return False
