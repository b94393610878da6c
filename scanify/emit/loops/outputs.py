"""The outputs of a local function: the carry, and what the layer collects."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from scanify.analysis.plan import Adds, Collection
from scanify.emit.loops.collecting import one_of_each
from scanify.emit.names.fresh_name import fresh
from scanify.emit.text import layout

_EMPTY = {Adds.LIST: "[]", Adds.TUPLE: "()", Adds.DICT: "{}"}


@dataclass(frozen=True)
class Outputs:
    """The outputs of a function and the code that receives them.

    `begin` are the first lines of the function, `returned` its return value, `method` the called method, `assigned` the
    target of the call, `after` the lines below the call with their depth of indentation, and `behind` the text right
    behind the call. `ended` is the return value if the loop ends with the layer.
    """

    begin: tuple[str, ...]
    returned: str
    method: str
    assigned: str
    after: tuple[tuple[int, str], ...] = ()
    behind: str = ""
    ended: str = ""


def outputs_of_appended(
    collections: Sequence[Collection], values: Sequence[str], state: str, taken: Set[str], *, fills: bool = False
) -> Outputs:
    """Outputs if each list gets one element from every layer: the elements, added to the lists below the call.

    Without a `state` the layers are independent. If the loop `fills` one list, which is empty before it, the call's
    result is that list.
    """
    collected = fresh("collected", taken)
    given = values[0] if len(values) == 1 else layout.tuple_display(values)
    beside, method = (f"{state}, ", "collect_via") if state else ("", "map_via")
    if len(collections) == 1 and fills:
        return Outputs((), f"{beside}{given}", method, f"{beside}{collections[0].name}")
    if len(collections) == 1:
        after: tuple[tuple[int, str], ...] = ((0, f"{collections[0].name}.extend({collected})"),)
    else:
        names = one_of_each([one.name for one in collections], taken)
        adds = [(1, f"{one.name}.append({name})") for one, name in zip(collections, names, strict=True)]
        after = ((0, f"for {layout.pattern(names)} in {collected}:"), *adds)
    return Outputs((), f"{beside}{given}", method, f"{beside}{collected}", after)


def outputs_of(
    collections: Sequence[Collection],
    exits: Set[str],
    carry: str,
    state: str,
    taken: Set[str],
    inner: Mapping[str, str],
) -> Outputs:
    """Outputs if a collection in the function has the name in `inner` and holds only what this layer adds.

    `carry` is the text of the carry returned by itself, `state` as one value of several.
    """
    if "return" in exits:
        result = fresh("returned", taken)
        after = ((0, f"if {result}:"), (1, f"return {result}[0]"))
        return Outputs((), f"{state}, None", "until_via", f"{state}, {result}", after, ended=f"{state}, ()")
    if "break" in exits and not collections:
        return Outputs((), f"{state}, None", "until_via", carry, behind="[0]", ended=f"{state}, ()")
    if not collections:
        return Outputs((), carry, "fold_via", carry)
    each = layout.pattern([inner.get(one.name, one.name) for one in collections])
    given = each if len(collections) == 1 else f"({each})"
    collected = fresh("collected", taken)
    if len(collections) == 1:
        names = [fresh("ys", taken)]
    else:
        names = [fresh(f"more_{one.name.lstrip('_')}", taken) for one in collections]
    lines = [(0, f"for {layout.pattern(names)} in {collected}:")]
    for one, name in zip(collections, names, strict=True):
        lines += [(depth + 1, line) for depth, line in _added(one, name, taken | set(names))]
    beside = f"{state}, " if state else ""
    return Outputs(
        begin=tuple(f"{inner.get(one.name, one.name)} = {_EMPTY[one.adds]}" for one in collections),
        returned=f"{state}, {given}, False" if "break" in exits else f"{beside}{given}",
        method="collect_until_via" if "break" in exits else "collect_via" if state else "map_via",
        assigned=f"{beside}{collected}",
        after=tuple(lines),
        ended=f"{state}, {given}, True",
    )


def _added(one: Collection, ys: str, taken: Set[str]) -> list[tuple[int, str]]:
    """Return lines that add the outputs to a collection. A possible None is not touched if no layer added anything."""
    if one.surely:
        together = {Adds.LIST: f"{one.name}.extend({ys})", Adds.TUPLE: f"{one.name} += {ys}"}
        return [(0, together.get(one.adds, f"{one.name}.update({ys})"))]
    y = fresh("y", taken)
    if one.adds is Adds.LIST:
        return [(0, f"for {y} in {ys}:"), (1, f"{one.name}.append({y})")]
    if one.adds is Adds.TUPLE:
        return [(0, f"for {y} in {ys}:"), (1, f"{one.name} += ({y},)")]
    key = fresh("at", taken)
    return [(0, f"for {key}, {y} in {ys}.items():"), (1, f"{one.name}[{key}] = {y}")]
