"""Write a recorded call as the function of a case."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.propose.recorded.expressions import Unwritable, Writer, is_default
from scanify.propose.request import Proposed
from scanify.propose.values.expression import show
from scanify.verify.recorded.call import Construction, RecordedCall, parameters

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def case_of(call: RecordedCall, constructions: Mapping[type, Sequence[Construction]], run: str) -> Proposed:
    """Return a case that repeats a recorded call with new arrays.

    `run` is the command as written. Raises Unwritable with the name of the argument that cannot be written.
    """
    if call.closure:
        raise Unwritable(f"it is defined in another function, and closes over {', '.join(call.closure)}")
    writer = Writer(call.module_globals, constructions)
    values = {name: part.tree() for part_of in call.parts for name, part in part_of.items()}
    called = _Called.of(call, values)
    lines = []
    for name in called.names:
        if name == called.state:
            continue
        try:
            if called.state is not None and name == called.names[0]:
                made = writer.constructed(values[name], with_state=True)
                lines.append(f"    model, {_local(called.state)} = {show(made)}")
            else:
                lines.append(f"    {_local(name)} = {show(writer.write(values[name]))}")
        except Unwritable as error:
            raise Unwritable(f"`{name}`: {error}") from None
    name = _snake(called.owner or call.function.name)
    said = [f"A call of {call.function.name} that `{run}` makes, with arrays of its own.", *writer.notes]
    text = "\n".join([f"def {name}(module):", *_docstring(said), *lines, f"    return {called.returned()}"]) + "\n"
    return Proposed(called.owner or call.function.name, name, text, tuple(sorted(writer.imports)))


def check(proposed: Proposed, call: RecordedCall) -> None:
    """Trace the written case. Raises Unwritable if it fails."""
    names: dict[str, Any] = {"eqx": eqx, "jax": jax, "jnp": jnp, "np": np}
    try:
        exec("\n".join([*proposed.imports, proposed.text]), names)
        model, args, *kwargs = names[proposed.function](SimpleNamespace(**call.module_globals))
        eqx.filter_eval_shape(lambda *given: given[0](*given[1], **given[2]), model, args, *(kwargs or [{}]))
    except Exception as error:
        said = (str(error).strip().splitlines() or [""])[0]
        raise Unwritable(f"the case that was written raises {type(error).__name__}: {said}") from None


@dataclass(frozen=True)
class _Called:
    """How a case calls the function: `owner` is the class of a method's object, None for a plain function.

    `names` are the passed arguments, `state` the argument that is the `eqx.nn.State` of the object.
    """

    call: RecordedCall
    owner: str | None
    names: tuple[str, ...]
    state: str | None

    @classmethod
    def of(cls, call: RecordedCall, values: Mapping[str, Any]) -> _Called:
        positional, by_name, spread, extra = parameters(call.code)
        first = positional[0] if positional else None
        method = call.function.name.rpartition(".")[2]
        is_method = first in call.owners and "." in call.function.name
        owner = call.owners[first] if first is not None and is_method else None
        defaults = _defaults(owner, method) if owner is not None else _defaults(call, call.function.name)
        given = [name for name in by_name if not _is_default(name, values, defaults)]
        while positional and not values.get(spread or "") and _is_default(positional[-1], values, defaults):
            positional.pop()
        rest = [name for name in (spread, extra) if name and values[name]]
        states = [name for name in positional if isinstance(values[name], eqx.nn.State)]
        state = states[0] if owner is not None and len(states) == 1 else None
        return cls(call, None if owner is None else owner.__qualname__, (*positional, *given, *rest), state)

    def returned(self) -> str:
        """Return what the case returns: the model, its arguments, and keyword arguments."""
        positional, by_name, spread, extra = parameters(self.call.code)
        method = self.call.function.name.rpartition(".")[2]
        args = [_local(name) for name in positional if name in self.names]
        if self.owner is not None:
            model, args = args[0] + ("" if method == "__call__" else f".{method}"), args[1:]
        else:
            leading = 0
            while leading < len(args) and positional[leading] in self.call.given:
                leading += 1
            model = f"eqx.Partial({', '.join([f'module.{self.call.function.name}', *args[:leading]])})"
            args = args[leading:]
        args += [f"*{_local(spread)}"] if spread in self.names and spread else []
        named = [f'"{name}": {_local(name)}' for name in by_name if name in self.names]
        named += [f"**{_local(extra)}"] if extra in self.names and extra else []
        text = f"{model}, ({', '.join(args)}{',' if len(args) == 1 else ''})"
        return f"{text}, {{{', '.join(named)}}}" if named else text


def _defaults(holder: Any, name: str) -> Mapping[str, Any]:
    function = getattr(holder, name, None) if isinstance(holder, type) else holder.module_globals.get(name)
    try:
        found = inspect.signature(function).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}
    return {each.name: each.default for each in found.values() if each.default is not each.empty}


def _is_default(name: str, values: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    return name in defaults and is_default(defaults[name], values[name])


def _local(name: str) -> str:
    if name == "self":
        return "model"
    return f"{name}_" if name in ("model", "module", "jax", "jnp", "eqx", "np") else name


def _docstring(said: Sequence[str]) -> list[str]:
    if len(said) == 1:
        return [f'    """{said[0]}"""']
    return [f'    """{said[0]}', "", *(f"    {each}" for each in dict.fromkeys(said[1:])), '    """']


def _snake(name: str) -> str:
    found = _WORD.sub("_", name.rpartition(".")[2]).lower().strip("_")
    return found if found.isidentifier() else "case"
