"""Write recorded values as source: constructor calls, plain values, and arrays by shape and dtype."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.propose.values.expression import Call, Expression, Text, show
from scanify.verify.leaves.correspond import Correspondence, correspond
from scanify.verify.recorded.call import Construction
from scanify.verify.recorded.snapshot import Array, snapshot
from scanify.verify.values.arrays import is_traced, struct

_PUBLIC = {
    "jax.nn": "jax.nn",
    "jax.nn.initializers": "jax.nn.initializers",
    "jax.numpy": "jnp",
    "jax.lax": "jax.lax",
    "jax": "jax",
    "equinox.nn": "eqx.nn",
    "equinox": "eqx",
    "numpy": "np",
}
_SMALL = 16  # the largest integer array written with its values
_FEW = 4  # the largest NumPy float array written with its values, since constructors may compute with them


class Unwritable(Exception):
    """A value cannot be written as code; the message says why."""


@dataclass(eq=False)
class Writer:
    """Writes values for a case whose `module` has these globals. Modules are written by their `constructions`.

    `imports` are the imports that the written names need, `notes` describes how written values differ from the
    originals.
    """

    module: Mapping[str, Any]
    constructions: Mapping[type, Sequence[Construction]]
    imports: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    _seeds: int = 0

    def write(self, value: Any) -> Expression:
        """Return an expression for a value like this one. Raises Unwritable if that is impossible."""
        for kind, writes in self._kinds:
            if isinstance(value, kind):
                written = writes(value)
                return Text(written) if isinstance(written, str) else written
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(value)
        if isinstance(value, type) or callable(value):
            return Text(self.name(value))
        raise Unwritable(f"objects of {_full_name(type(value))} are not written as code")

    @functools.cached_property
    def _kinds(self) -> Sequence[tuple[Any, Callable[[Any], str | Expression]]]:
        return (
            (Array, self._array),
            ((np.ndarray, jax.Array), lambda value: self._array(snapshot(value).leaves[0])),
            (enum.Enum, lambda value: f"{self.name(type(value))}.{value.name}"),
            (np.generic, lambda value: f"{self.name(type(value))}({value.item()!r})"),
            (float, lambda value: repr(value) if math.isfinite(value) else f'float("{value}")'),
            ((type(None), bool, int, str, bytes, complex, type(...), range, slice), repr),
            (np.dtype, lambda value: f"jnp.dtype({value.name!r})"),
            ((tuple, list, set, frozenset, dict), self._container),
            (
                functools.partial,
                lambda f: self._call("functools.partial", (f.func, *f.args), f.keywords),
            ),
            (SimpleNamespace, lambda value: self._call("types.SimpleNamespace", (), vars(value))),
            (eqx.Module, self.constructed),
        )

    def _container(self, value: Any) -> str | Expression:
        cls = type(value)
        if issubclass(cls, tuple) and hasattr(value, "_fields"):
            return self._call(self.name(cls), (), value._asdict())
        if cls is dict:
            return f"{{{', '.join(f'{self._flat(key)}: {self._flat(each)}' for key, each in value.items())}}}"
        inner = ", ".join(map(self._flat, value))
        if cls is tuple:
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if cls is list:
            return f"[{inner}]"
        if cls in (set, frozenset):
            return f"{cls.__name__}([{inner}])"
        raise Unwritable(f"objects of {_full_name(cls)} are not written as code")

    def _flat(self, value: Any) -> str:
        return " ".join(show(self.write(value), 0).split("\n"))

    def _call(self, callee: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Expression:
        if callee.startswith(("functools.", "types.")):
            self.imports.add(f"import {callee.partition('.')[0]}")
        given = [*((None, self.write(each)) for each in args), *((n, self.write(each)) for n, each in kwargs.items())]
        return Call(callee, tuple(given))

    def _dataclass(self, value: Any) -> Expression:
        cls, given = type(value), {}
        for each in dataclasses.fields(value):
            here = getattr(value, each.name)
            if each.init and not is_default(each.default, here):
                given[each.name] = here
        return self._call(self.name(cls), (), given)

    def constructed(self, value: Any, *, with_state: bool = False) -> Expression:
        """Return the call that made a module; `with_state`, a call that also returns its `eqx.nn.State`."""
        cls = type(value)
        seen = self.constructions.get(cls, ())
        for construction in seen:
            args, kwargs = construction.arguments.tree()
            made = _made(construction, with_state=with_state)
            if made is None or not _is_like(made, value):
                continue
            name = self.name(cls)
            call = self._call(f"eqx.nn.make_with_state({name})" if with_state else name, args, kwargs)
            if _plain_leaves(made) == _plain_leaves(value):
                return call
            if _plain_leaves(eqx.nn.inference_mode(made)) == _plain_leaves(value):
                return Call("eqx.nn.inference_mode", ((None, call),))
            self.notes.append(f"The run changed its {cls.__name__} after it was made; here it is as it was made.")
            return call
        if not seen:
            raise Unwritable(f"the run was not seen to make a {_full_name(cls)}")
        raise Unwritable(f"no {_full_name(cls)} that the run makes is like this one; was it changed afterwards?")

    def _array(self, array: Array) -> str:
        if _is_key(array):
            return _key(array)
        if not array.numpy:
            return self._numbers(array)
        most = _FEW if jnp.issubdtype(array.aval.dtype, jnp.inexact) else _SMALL
        if array.values is not None and array.values.size <= most:
            return f"np.array({array.values.tolist()!r}, dtype=np.{array.values.dtype.name})"
        return f"np.asarray({self._numbers(array)})"

    def _numbers(self, array: Array) -> str:
        shape, dtype, values = array.aval.shape, array.aval.dtype, array.values
        typed = f"dtype={_dtype(dtype)}"
        if values is not None and not shape:
            plain = repr(values.item())
            return f"jnp.asarray({plain})" if array.aval.weak_type else f"jnp.array({plain}, {typed})"
        if values is not None and dtype == np.uint32 and shape == (2,) and values[0] == 0:
            return f"jax.random.PRNGKey({values[1]})"
        if values is not None and values.size:
            first = values.reshape(-1)[0]
            if first in (0, 1) and np.all(values == first):
                return f"jnp.{'ones' if first else 'zeros'}({shape!r}, {typed})"
        if not jnp.issubdtype(dtype, jnp.inexact):
            if values is not None and values.size <= _SMALL:
                return f"jnp.array({values.tolist()!r}, {typed})"
            return f"jnp.zeros({shape!r}, {typed})"
        self._seeds += 1
        drawn = f"jax.random.normal(jax.random.key({self._seeds}), {shape!r}"
        return f"{drawn})" if dtype == np.float32 else f"{drawn}).astype({_dtype(dtype)})"

    def name(self, value: Any) -> str:
        """Return the name of a class or function within a case. Raises Unwritable if it has none."""
        path = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
        if path and _at(self.module, path) is value:
            return f"module.{path}"
        for name, short in _PUBLIC.items():
            if path and _at(vars(sys.modules.get(name, SimpleNamespace())), path) is value:
                return f"{short}.{path}"
        home = getattr(value, "__module__", None) or ""
        if home == "builtins" and path:
            return str(path)
        if not path or "<" in path:
            raise Unwritable(f"{path or _full_name(type(value))} of {home} has no name that another file can import")
        if home == "__main__":
            raise Unwritable(f"{path} is defined in the program itself; move it to a module that can be imported")
        if _at(vars(sys.modules.get(home, SimpleNamespace())), path) is not value:
            raise Unwritable(f"{path} of {home} cannot be imported by that name")
        self.imports.add(f"from {home} import {path.partition('.')[0]}")
        return str(path)


def _at(names: Mapping[str, Any], path: str) -> Any:
    first, *rest = path.split(".")
    found = names.get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def is_default(default: Any, value: Any) -> bool:
    """True if a value is the default, or a plain value equal to it."""
    same = type(default) is type(value) and isinstance(value, bool | int | float | str | bytes)
    return value is default or (same and bool(value == default))


def _made(construction: Construction, *, with_state: bool) -> Any:
    args, kwargs = construction.arguments.restored()
    try:
        if with_state:
            return eqx.nn.make_with_state(construction.cls)(*args, **kwargs)[0]
        return construction.cls(*args, **kwargs)
    except Exception:  # drawn values of tracers may make the user's constructor raise
        return None


def _avals(tree: Any) -> list[Any]:
    found = []
    for leaf in jax.tree.leaves(tree):
        if isinstance(leaf, Array) or is_traced(leaf) or isinstance(leaf, np.ndarray):
            aval = leaf.aval if isinstance(leaf, Array) else struct(leaf)
            found.append((aval.shape, aval.dtype))
    return found


def _is_like(made: Any, value: Any) -> bool:
    """True if a module matches the recorded one in everything but its leaves: static fields, shapes and dtypes."""
    recorded, (leaves, treedef) = jax.tree.leaves(value), jax.tree.flatten(made)
    if _avals(made) != _avals(value) or len(leaves) != len(recorded):
        return False
    found = correspond(jax.tree.unflatten(treedef, recorded), value)
    return isinstance(found, Correspondence) and not found.statics


def _plain_leaves(tree: Any) -> list[Any]:
    kinds = (bool, int, float, str, type(None))
    return [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, kinds)]


def _is_key(array: Array) -> bool:
    return bool(jax.dtypes.issubdtype(array.aval.dtype, jax.dtypes.prng_key))


def _key(array: Array) -> str:
    """A key by its seed if it comes from `jax.random.key(n)`, else the key 0."""
    shape, values = array.aval.shape, array.values
    implementation = str(array.aval.dtype._impl.name)
    typed = "" if implementation == "threefry2x32" else f", impl={implementation!r}"
    known = values is not None and not shape and values.size == 2 and values[0] == 0
    key = f"jax.random.key({int(values[1]) if known and values is not None else 0}{typed})"
    return key if not shape else f"jax.random.split({key}, {shape!r})"


def _dtype(dtype: Any) -> str:
    name = np.dtype(dtype).name
    return "bool" if name == "bool" else f"jnp.{name}" if hasattr(jnp, name) else f"jnp.dtype({name!r})"
