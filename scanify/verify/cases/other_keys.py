"""Build both models from other random keys than the case's own, and from other random bits.

A constructor that does not read its key, or reads it differently, may give the same parameters for the one key of the
case. Only keys that the case makes are replaced: one that the model makes itself is part of the model. Effects of a
constructor on rare numbers, such as clipping, show with bits that keys rarely give.
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

# Replacements of random bits; functions of each number, so that a batch of draws equals its parts.
EXTREME: tuple[Bits, ...] = (
    lambda bits: bits * 0,
    lambda bits: ~(bits * 0),
    lambda bits: np.where(bits % 2 == 0, bits * 0, ~(bits * 0)),
    lambda bits: np.where(bits % 8 == 0, bits * 0, np.where(bits % 8 == 1, ~(bits * 0), bits)),
)
# Modules of jax from which functions of jax and users take `while_loop`.
_LOOPS = "jax.lax", "jax._src.lax.control_flow"
# The number of leading bits of a float32 draw that may be alike.
_TAIL = 24


def _tail(front: int, low: int) -> Bits:
    """Return numbers that begin with `front` zeros if their last bit is `low`, and otherwise with as many ones."""
    return lambda bits: np.where(bits % 2 == low, bits >> front, ~(bits >> front))


TAILS = tuple(_tail(front, low) for front in range(1, _TAIL) for low in (0, 1))


@dataclass(frozen=True)
class Keys:
    """The offset for the seeds of keys, int32[], and the replacement of random bits (None: unchanged)."""

    shift: Any
    bits: Bits | None = None


class _Drawn:
    """The current replacement of draws: programs are compiled once for all `bits`."""

    bits: Bits | None = None

    @classmethod
    def instead(cls, bits: Any) -> _Numbers:
        numbers = np.asarray(bits)
        return numbers if cls.bits is None else cls.bits(numbers).astype(numbers.dtype)


@dataclass(eq=False)
class Shifted:
    """Whether a key was changed."""

    any: bool = False


@contextmanager
def other_keys(
    namespace: MutableMapping[str, Any], is_models: Callable[[FrameType], bool], keys: Keys
) -> Iterator[Shifted]:
    """Change keys made in this context, and those in `namespace`, the case file's.

    Keys made while a frame of the model runs, according to `is_models`, are unchanged. So are bits drawn by a loop of
    unknown length, which may continue until it accepts one.
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
        with traced_apart("bits of a loop"):  # a program that was traced outside draws other bits
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
    """Return another key of the same kind; other values are unchanged."""
    if is_key(value):
        data = _shifted(jax.random.key_data(value), keys)
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(value))
    return _shifted(value, keys) if _is_key(value) else value


def moved_in(arguments: Mapping[str, Any], keys: Keys) -> tuple[dict[str, Any], bool]:
    """Return the arguments of a case with other keys; and whether one of them is a key."""
    made = {name: jax.tree.map(lambda each: moved(each, keys), value) for name, value in arguments.items()}
    return made, any(map(_is_key, jax.tree.leaves(dict(arguments))))


def _is_key(value: Any) -> bool:
    """True for a typed key, or an array in the form of raw keys."""
    return is_key(value) or (isinstance(value, jax.Array) and value.dtype == np.uint32 and value.shape in ((2,), (4,)))


def _is_while(frame: FrameType) -> bool:
    return frame.f_code.co_name == "while_loop" and str(frame.f_globals.get("__name__")).startswith("jax.")


def _runs(frame: FrameType | None, is_models: Callable[[FrameType], bool]) -> bool:
    while frame is not None:
        if is_models(frame):
            return True
        frame = frame.f_back
    return False
