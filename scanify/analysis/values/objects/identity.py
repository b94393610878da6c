"""What tells values from others: calls with the same are run once."""

import ast
from collections.abc import Iterable, Mapping, Sequence

from scanify.analysis.values.domain import (
    Array,
    Class,
    Const,
    Function,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Method,
    Number,
    OneOf,
    Partial,
    Text,
    Unknown,
    Value,
    Walked,
)
from scanify.analysis.values.heap import DictCell, Group, ListCell
from scanify.analysis.values.marks import Vary
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

Named = Mapping[str, Value]


def is_coarse(run: Interpreter) -> bool:
    """Whether only what a call does is asked for, and not which numbers and sizes it gives."""
    return not run.building and (run.coarse or len(run.calling) > 1)


def mode(run: Interpreter) -> tuple[bool, bool, bool]:
    """What a call is run for: its effects alone, the making of an object, or the effects of that.

    How values differ that loops write to is asked where an object is made, and where more than effects are asked for.
    """
    return is_coarse(run), bool(run.building), bool(run.building) and run.coarse


def generalized(value: Value) -> Value:
    """An argument for a call of which only the effects are asked: a number or a sentence may be any other one."""
    if isinstance(value, Const) and not isinstance(value.value, bool):
        if isinstance(value.value, int | float):
            return Number(value.marks)
        if isinstance(value.value, str) and not value.value.isidentifier():
            return Text(value.marks)
    return value


def note_change(run: Interpreter, cell: ListCell | DictCell, value: Value | None = None) -> None:
    """Note that the call which runs changes a list or a dict, by adding or storing a value or in another way.

    Where only effects are asked for it does not matter which arrays and numbers are in it.
    """
    telling = value is None or not is_coarse(run) or _plain(value) is None
    run.changes.note(cell, cell.born if run.is_fresh(cell.born, 0) else 0, telling=telling)


def note_store(run: Interpreter, owner: Instance, name: str, value: Value) -> None:
    """Note that the call which runs stores into a field, likewise."""
    before = owner.fields.get(name)
    plain = _plain(value) is not None and (before is None or _plain(before) is not None)
    same = before is not None and kind_of(value) == kind_of(before)
    run.changes.note_store(owner, name, telling=not (is_coarse(run) and (plain or same)))


def memo_key(run: Interpreter, function: Function, positional: Sequence[Value], named: Named) -> object | None:
    """What tells a call from others of the same function; None where it has to be run anew."""
    around = surroundings(function.env)
    coarse = is_coarse(run)
    parts: list[object] = [function.node, around, mode(run), run.replacing, function.bare]
    values = [function.bound, *positional, *named.values()]
    size = _size(values)
    run.steps += size // _NODES_OF_A_STEP
    if size >= _MOST_NODES:
        return None
    for value in values:
        part = kind_of(value) if coarse else identity(value)
        if part is None:
            return None
        parts.append(part)
    return with_loops(run, (*parts, tuple(named)), function.node)


_MOST_NODES = 4_000  # of values in values: to tell larger ones apart costs more than to run a call again
_NODES_OF_A_STEP = 100


def _size(values: Iterable[Value | None]) -> int:
    """How many values there are in some, as often as they are looked at to tell them apart; at most `_MOST_NODES`."""
    count = 0
    waiting = [(value, 0) for value in values]
    while waiting and count < _MOST_NODES:
        value, depth = waiting.pop()
        count += 1
        match value:
            case Instance() if depth < _MAX_IDENTITY:
                waiting += [(field, depth + 1) for field in value.fields.values()]
            case Listed():
                waiting += [(group.element, depth + 1) for group in value.cell.groups]
            case Mapped():
                waiting += [(each, depth + 1) for each in value.cell.entries.values()]
                waiting += [(group.element, depth + 1) for group in value.cell.groups]
            case OneOf():
                waiting += [(option, depth + 1) for option in value.options]
            case Walked():
                waiting += [(part, depth + 1) for part in value.parts]
            case Partial():
                inner = (value.function, *value.positional, *(each for _, each in value.named))
                waiting += [(part, depth + 1) for part in inner]
            case Method():
                waiting.append((value.owner, depth + 1))
            case Function():
                waiting.append((value.bound, depth + 1))
    return count


def surroundings(env: Env) -> tuple[int, ...]:
    """What tells the names around a function from others, and from what they stood for at another time."""
    found: list[int] = []
    around: Env | None = env
    while around is not None:
        if around.names:
            found += (id(around), around.version)
        around = around.parent
    return tuple(found)


def _shown(cell: ListCell | DictCell, depth: int) -> Sequence[Group]:
    """What a list holds now, which may be another thing later; nothing of one deep in others."""
    return cell.groups if depth < _MAX_IDENTITY else ()


def with_loops(run: Interpreter, key: object, node: ast.AST) -> object:
    """The key of a call of a function that gives another thing in each loop: a call in other loops is another one.

    Where only effects are asked for it is the same: what a call does, it does in any loop.
    """
    return (key, run.around) if node in run.depending and not is_coarse(run) else key


def kind_of(value: Value | None, depth: int = 0) -> object | None:
    """What decides what a call may do, apart from what it gives: classes and functions, not numbers and arrays.

    Lists and dicts are told apart by where they are made and by what they hold.
    """
    match value:
        case Instance() if value.whole or value.origin:
            if depth >= _MAX_IDENTITY:
                return ("instance", id(value.fields))
            kept = (each for each in value.fields.items() if not _is_neutral(each[1]))
            fields = frozenset((name, kind_of(field, depth + 1) or id(field)) for name, field in kept)
            carried = any(mark.how <= Vary.CARRY_SHAPE for mark in value.marks)
            return (_class_of(value), value.exact, carried, fields)
        case Const():
            return ("const", Const(value.value))
        case Unknown():
            return ("unknown", value.born > 0, value.computed, _differs(value), value.extent, *_data(value))
        case Array():
            return Array, _differs(value), value.size
        case Number():
            return Number, _differs(value), value.extent
        case Text() | Key():
            return type(value), _differs(value)
        case Listed() if value.cell.is_tuple:
            parts = tuple(kind_of(each.element, depth + 1) or id(each.element) for each in value.cell.groups)
            return ("tuple", _differs(value), parts)
        case Listed() | Mapped() if depth >= _MAX_NESTED:  # one may hold itself
            return ("nested", id(value.cell), len(value.cell.groups), _differs(value))
        case Listed():
            elements = (each.element for each in value.cell.groups)
            return ("list", value.cell.node, _differs(value), _kinds(elements, depth))
        case Mapped():
            held = (*value.cell.entries.values(), *(each.element for each in value.cell.groups))
            return ("dict", value.cell.node, _differs(value), _kinds(held, depth))
        case OneOf():
            plain: _PlainKinds = set()
            others = []
            for option in value.options:
                if (kinds := _plain(option)) is None:
                    others.append(option)
                else:
                    plain |= kinds
            return ("one of", _differs(value), _kinds(others, depth), frozenset(plain))
        case Walked():
            parts = tuple(kind_of(each, depth + 1) or id(each) for each in value.parts)
            return (value.kind, _differs(value), parts)
        case Partial():
            inner = (value.function, *value.positional, *(each for _, each in value.named))
            return (value.through, tuple(kind_of(each, depth + 1) or id(each) for each in inner))
        case Method():
            return (value.name, kind_of(value.owner, depth + 1) or id(value.owner))
        case _:
            return identity(value, depth)


def _data(value: Unknown) -> tuple[object, ...]:
    return value.data, value.argument


def _is_neutral(value: Value) -> bool:
    """Whether a field holds numbers and arrays that are the same in each layer: it decides about no call."""
    match value:
        case Array() | Number() | Key() | Text():
            return not _differs(value)
        case Listed() | OneOf():
            kinds = _plain(value)
            return kinds is not None and not any(differs for *_, differs in kinds)
        case _:
            return False


_PlainKinds = set[tuple[object, ...]]


def _plain(value: Value, found: _PlainKinds | None = None) -> _PlainKinds | None:
    """What plain values are of, and whether they differ: numbers, arrays, texts and keys, and tuples of such.

    None for all that can be called or changed. A tuple in a tuple does what the tuple does.
    """
    kinds: _PlainKinds = set() if found is None else found
    match value:
        case Array() | Number() | Key() | Text():
            kinds.add((type(value), isinstance(value, Array) and value.numpy, _differs(value)))
        case Listed() if value.cell.is_tuple:
            kinds.add(("tuple", False, _differs(value)))
            if any(_plain(each.element, kinds) is None for each in value.cell.groups):
                return None
        case OneOf():
            if any(_plain(option, kinds) is None for option in value.options):
                return None
        case _:
            return None
    return kinds


def _class_of(value: Instance) -> object:
    return value.cls.qualname if isinstance(value.cls, Library) else value.cls.node


def _differs(value: Value) -> bool:
    """Whether a Python value is another one in each layer, so that a condition on it parts them."""
    if not value.marks:
        return False
    if isinstance(value, Number | Text):
        return True
    return any(mark.how <= Vary.CARRY_SHAPE for mark in value.marks)  # a condition may ask for its shape


def _kinds(values: Iterable[Value], depth: int) -> frozenset[object]:
    return frozenset(kind_of(each, depth + 1) or id(each) for each in values)


_MAX_NESTED = 12  # lists and dicts in others that are looked into
_MAX_IDENTITY = 4  # objects in objects that are looked into before they are told apart by being others


def identity(value: Value | None, depth: int = 0) -> object | None:
    """What tells a value from others, so that a call need not be run again; None where that is not known."""
    match value:
        case None | Const() | Number() | Text() | Key() | Array() | Class() | Library():
            return (type(value), value, type(getattr(value, "value", None)))
        case Unknown():
            return ("unknown", value.marks, value.born > 0, value.computed, value.extent, *_data(value))
        case Instance() if value.whole or value.origin:
            if depth >= _MAX_IDENTITY or len(value.fields) > 40:
                return ("instance", id(value.fields), value.marks)
            fields = frozenset((name, identity(field, depth + 1) or id(field)) for name, field in value.fields.items())
            return (_class_of(value), value.exact, value.marks, fields)
        case Listed() if value.cell.is_tuple:
            parts = tuple(identity(group.element, depth + 1) or id(group.element) for group in value.cell.groups)
            return ("tuple", value.cell.whole, value.marks, parts)
        case Listed():
            held = tuple(identity(each.element, depth + 1) or id(each.element) for each in _shown(value.cell, depth))
            return ("list", id(value.cell), len(value.cell.groups), held, value.marks)
        case Mapped():
            entries = value.cell.entries.items() if depth < _MAX_IDENTITY else ()
            named = tuple((key, identity(each, depth + 1) or id(each)) for key, each in entries)
            held = tuple(identity(each.element, depth + 1) or id(each.element) for each in _shown(value.cell, depth))
            return ("dict", id(value.cell), len(value.cell.entries), len(value.cell.groups), named, held, value.marks)
        case Function():
            return ("function", value.node, value.bare, surroundings(value.env),
                    identity(value.bound, depth + 1) if value.bound is not None else 0, value.marks)  # fmt: skip
        case OneOf():
            return ("one of", value.marks, tuple(identity(each, depth + 1) or id(each) for each in value.options))
        case Walked():
            parts = tuple(identity(each, depth + 1) or id(each) for each in value.parts)
            return (value.kind, value.count, value.marks, parts)
        case _:
            return None
