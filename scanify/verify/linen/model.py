"""A Linen module with its variables as a callable pytree, like other models of cases.

A case returns `(module, args)` or `(module, args, kwargs)` with an unbound module; kwargs may contain arguments of
`apply`: `rngs`, `mutable` and `method`. The variables are those that `module.init` returns for the same call.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from scanify.errors import ScanifyError
from scanify.verify.linen.renaming import Renaming, entries, gathered, nested
from scanify.verify.linen.streams import Streams, Use, renamed
from scanify.verify.programs.apart import traced_anew
from scanify.verify.programs.op_by_op import op_by_op

# Arguments of `apply` and `init` that do not belong to the call.
_OWN = ("method", "mutable")


class _Fixed:
    """The static part of a model; each is equal to itself alone."""

    def __init__(self, module: Any, method: Any, mutable: Any, streams: Streams) -> None:
        self.module, self.method, self.mutable, self.streams = module, method, mutable, streams


@jax.tree_util.register_pytree_with_keys_class
class LinenModel:
    """A module and its variables. Calling it returns the results of `apply`: outputs, and the updated collections.

    With `streams` the updated collections are stacked, and random streams renamed, as in the scan.
    """

    def __init__(self, variables: Any, fixed: _Fixed) -> None:
        self.variables, self.fixed = variables, fixed

    def __call__(self, *args: Any, rngs: Any = None, **kwargs: Any) -> Any:
        return self.applied(*args, rngs=rngs, **kwargs)[0]

    def applied(self, *args: Any, rngs: Any = None, **kwargs: Any) -> tuple[Any, list[Use]]:
        """Return the outputs, and the uses of random streams."""
        fixed = self.fixed
        given = {} if fixed.method is None else {"method": fixed.method}
        with renamed(fixed.streams.renaming, dict(fixed.streams.call)) as uses:
            returned = fixed.module.apply(self.variables, *args, rngs=rngs, mutable=fixed.mutable, **given, **kwargs)
        if fixed.mutable is False:
            return returned, uses
        outputs, updated = returned
        stacked = {name: _stacked(fixed.streams.renaming, each) for name, each in _unboxed(updated).items()}
        return ((outputs, stacked) if stacked else outputs), uses

    def with_streams(self, streams: Streams) -> LinenModel:
        """Return the same model with other streams."""
        fixed = self.fixed
        return LinenModel(self.variables, _Fixed(fixed.module, fixed.method, fixed.mutable, streams))

    def tree_flatten_with_keys(self) -> tuple[Any, Any]:
        return [(jax.tree_util.GetAttrKey("variables"), self.variables)], self.fixed

    @classmethod
    def tree_unflatten(cls, fixed: Any, children: Any) -> LinenModel:
        return cls(children[0], fixed)


def is_linen(value: Any) -> bool:
    """Return True for a module of Flax Linen. Raises ScanifyError for a class of modules."""
    linen = sys.modules.get("flax.linen")
    if linen is not None and isinstance(value, type) and issubclass(value, linen.Module):
        raise ScanifyError(
            f"expected a module of Flax Linen from the case, got the class {value.__name__}: return what it makes, "
            f"module.{value.__name__}(...)"
        )
    return linen is not None and isinstance(value, linen.Module)


def with_variables(returned: Any, streams: Streams) -> Any:
    """Return the result of a case, with its variables for a Linen module; any other is unchanged."""
    if not (isinstance(returned, tuple) and len(returned) in (2, 3) and is_linen(returned[0])):
        return returned
    if len(returned) == 3 and not isinstance(returned[2], Mapping):
        return returned
    module, args, kwargs = returned[0], returned[1], dict(returned[2]) if len(returned) == 3 else {}
    if module.scope is not None:
        raise ScanifyError(
            f"expected a module of Flax Linen that is not bound from the case, got a bound {type(module).__name__}: "
            "return the module itself, its variables are those of `init`"
        )
    own = {name: kwargs.pop(name) for name in _OWN if name in kwargs}
    fixed = _Fixed(
        module, own.get("method"), own.get("mutable", importlib.import_module("flax.core").DenyList("params")), streams
    )
    return LinenModel(initial(fixed, args, kwargs)[0], fixed), args, kwargs


def initial(fixed: _Fixed, args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, list[Use]]:
    """Return the variables that `init` returns for a call, and the random streams that it uses."""
    given_args, given_kwargs = jax.tree.map(_concrete, (args, dict(kwargs)))
    rngs = given_kwargs.pop("rngs", None)
    if rngs is None:
        rngs = {}
    elif not isinstance(rngs, Mapping):
        rngs = {"params": rngs}
    given = {} if fixed.method is None else {"method": fixed.method}
    uses: list[Use] = []

    def made(rngs: Any, args: Any, kwargs: Any) -> Any:
        # Otherwise jax would reuse the trace of an earlier call of a jitted module that the user's file holds.
        with traced_anew("init"), renamed(fixed.streams.renaming, dict(fixed.streams.init)) as used:
            variables = _thawed(fixed.module.init(rngs, *args, **given, **kwargs))
        uses[:] = used
        return variables

    return op_by_op(made, {"params": jax.random.key(0), **rngs}, given_args, given_kwargs), uses


def _concrete(leaf: Any) -> Any:
    return jnp.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf


def _thawed(tree: Any) -> Any:
    return {name: _thawed(each) for name, each in tree.items()} if isinstance(tree, Mapping) else tree


def _unboxed(updated: Any) -> Any:
    """Remove the names of axes, which a scan changes."""
    return _thawed(importlib.import_module("flax.core").meta.unbox(updated))


def _stacked(renaming: Renaming, collection: Any) -> Any:
    if not renaming:
        return collection
    made = {}
    for path, (lead, values) in gathered(renaming, entries(collection)).items():
        if lead and _alike(values):
            made[path] = jax.tree.map(lambda *rows, lead=lead: _rows(rows, lead), *values)
        else:
            made |= {path: values[0]} if not lead else {(*path, str(row)): each for row, each in enumerate(values)}
    return nested(made)


def _alike(values: list[Any]) -> bool:
    """Return True if the values written by layers can be stacked."""
    forms = {
        (jax.tree.structure(v), tuple((jnp.shape(x), jnp.result_type(x)) for x in jax.tree.leaves(v))) for v in values
    }
    return len(forms) == 1


def _rows(rows: tuple[Any, ...], lead: tuple[int, ...]) -> Any:
    stacked = jnp.stack(rows)
    return stacked if len(lead) == 1 else stacked.reshape(*lead, *stacked.shape[1:])
