"""One recorded call of a function, and one recorded construction of a module."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FrameType, FunctionType, MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax

from scanify.verify.recorded.functions import Function
from scanify.verify.recorded.snapshot import Snapshot, snapshot

Axes = tuple[tuple[str, int], ...]

_NONE = MappingProxyType[str, Any]({})
_UNSUPPORTED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Call(eqx.Module):  # type: ignore[misc]
    """The model of a recorded call: the arguments of a function that hold modules, and its closure.

    `code` and `module_globals` are those of the function; each recorded function has its own subclass, so that its code
    is not part of the pytree. Called with the other arguments by name, it calls the function: under named axes of these
    sizes, outermost first, if there are `axes`; `mapped` says by name which leaves have them in front.
    """

    given: dict[str, Any]
    closure: dict[str, Any]
    code: ClassVar[CodeType]
    module_globals: ClassVar[dict[str, Any]]
    axes: ClassVar[Axes]
    mapped: ClassVar[Mapping[str, Any]]

    def __call__(self, **others: Any) -> Any:
        leaves, treedef = jax.tree.flatten(others)
        mapped = jax.tree.leaves(dict(self.mapped)) if self.axes else [False] * len(leaves)

        def call(own: Sequence[Any]) -> Any:
            rest = iter(own)
            return self._called(
                treedef.unflatten([next(rest) if m else x for m, x in zip(mapped, leaves, strict=True)])
            )

        for name, size in reversed(self.axes):
            call = eqx.filter_vmap(call, in_axes=(0,), out_axes=eqx.if_array(0), axis_name=name, axis_size=size)
        return call([leaf for m, leaf in zip(mapped, leaves, strict=True) if m])

    def _called(self, others: Mapping[str, Any]) -> Any:
        code, given = self.code, {**self.given, **others}
        cells = tuple(CellType(self.closure[name]) if name in self.closure else CellType() for name in code.co_freevars)
        function = FunctionType(code, self.module_globals, code.co_name, None, cells)
        positional, by_name, spread, extra = parameters(code)
        values = [*(given[name] for name in positional), *(given[spread] if spread else ())]
        return function(*values, **{name: given[name] for name in by_name}, **(given[extra] if extra else {}))


def parameters(code: CodeType) -> tuple[list[str], list[str], str | None, str | None]:
    """Return the positional and the keyword-only parameters of a function, `*args` and `**kwargs`."""
    names, count = code.co_varnames, code.co_argcount
    positional, by_name = list(names[:count]), list(names[count : count + code.co_kwonlyargcount])
    rest = iter(names[count + code.co_kwonlyargcount :])
    spread = next(rest) if code.co_flags & inspect.CO_VARARGS else None
    extra = next(rest) if code.co_flags & inspect.CO_VARKEYWORDS else None
    return positional, by_name, spread, extra


@dataclass(frozen=True, eq=False)
class RecordedCall:
    """The call of a function with this number, counted from 0.

    `given` are the arguments that hold modules, `others` the other ones, `closure` the closure of the function, all by
    name. `code` and `module_globals` are those of the function, `owners` the classes of the modules among `given`, and
    `constructions` the earlier constructions of these classes. `axes` are the named axes that it is called under, as
    with `vmap` and `shard_map`, with their sizes.
    """

    function: Function
    number: int
    code: CodeType
    module_globals: dict[str, Any]
    given: Mapping[str, Snapshot]
    others: Mapping[str, Snapshot]
    closure: Mapping[str, Snapshot]
    owners: Mapping[str, type]
    constructions: Mapping[str, Sequence[Construction]]
    axes: Axes = ()

    @property
    def form(self) -> Any:
        """Return the properties that calls of one kind share."""
        return [(name, part.form()) for part_of in self.parts for name, part in part_of.items()]

    @property
    def traced(self) -> frozenset[str]:
        """Return the arguments that hold modules with tracers."""
        return frozenset(name for name, part in self.given.items() if part.traced)

    @property
    def parts(self) -> tuple[Mapping[str, Snapshot], ...]:
        return self.given, self.closure, self.others

    def model(
        self, given: Mapping[str, Any], closure: Mapping[str, Any], axes: Axes = (), mapped: Mapping[str, Any] = _NONE
    ) -> Call:
        """Return the model of the call, of a class of its own."""
        members = {"code": self.code, "module_globals": self.module_globals, "__module__": __name__}
        members |= {"axes": axes, "mapped": mapped}
        kind: Any = type("Call", (Call,), members)
        found: Call = kind(dict(given), dict(closure))
        return found


def recorded(
    function: Function, number: int, frame: FrameType, constructions: Mapping[type, Sequence[Construction]]
) -> RecordedCall:
    """Record the call that a frame begins, after `constructions`. Raises TypeError for generators and coroutines."""
    code, values = frame.f_code, frame.f_locals
    if code.co_flags & _UNSUPPORTED:
        raise TypeError("generators and coroutines return no arrays, so their loops cannot be compared")
    positional, by_name, spread, extra = parameters(code)
    names = [*positional, *by_name, *(name for name in (spread, extra) if name)]
    holding = [name for name in names if holds_modules(values[name])]
    closure = [name for name in code.co_freevars if name in values]
    if not holding and not any(holds_modules(values[name]) for name in closure):
        holding = names[:1]
    given, others, closed = (
        {name: snapshot(values[name]) for name in some}
        for some in (holding, [name for name in names if name not in holding], closure)
    )
    owners = {name: type(values[name]) for name in holding if isinstance(values[name], eqx.Module)}
    made = {name: tuple(constructions.get(owner, ())) for name, owner in owners.items()}
    return RecordedCall(function, number, code, frame.f_globals, given, others, closed, owners, made, _named_axes())


def _named_axes() -> Axes:
    """Return the named axes around the current call, outermost first."""
    core = sys.modules[jax.core.Tracer.__module__]
    environment = getattr(core, "get_axis_env", lambda: None)()
    sizes = getattr(environment, "axis_sizes", {})
    return tuple((name, int(size)) for name, size in sizes.items() if isinstance(name, str))


def holds_modules(value: Any) -> bool:
    """True if a pytree contains a module."""
    found = jax.tree.leaves(value, is_leaf=lambda node: isinstance(node, eqx.Module))
    return any(isinstance(node, eqx.Module) for node in found)


@dataclass(frozen=True, eq=False)
class Construction:
    """A class of the user, and the arguments of a construction."""

    cls: type
    arguments: Snapshot


def constructed(cls: type, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Construction:
    """Record a construction."""
    return Construction(cls, snapshot((args, dict(kwargs))))
