"""Likeness: whether the layers of a list differ in nothing but arrays, and how they differ where they do."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.index.meaning import Definition
from scanify.analysis.values import tables
from scanify.analysis.values.classes import Field, dotted
from scanify.analysis.values.domain import (
    Array,
    Const,
    Function,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Number,
    OneOf,
    Partial,
    Text,
    Unknown,
    Value,
    options,
)
from scanify.analysis.values.heap import Group
from scanify.analysis.values.marks import Mark, Marks, Vary
from scanify.analysis.values.nnx import nnx_module
from scanify.analysis.values.objects.held import held, held_marks
from scanify.analysis.values.objects.sharing import is_walked
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.interpreter import Interpreter

_SIZES = frozenset(
    "in_features out_features in_size out_size width_size in_channels out_channels kernel_size channels shape "
    "num_embeddings embedding_size input_size hidden_size query_size key_size value_size output_size".split()
)
_ARGUMENTS = {  # of classes of equinox.nn, in the order in which they are given
    "Linear": "in_features out_features",
    "Conv": "in_channels out_channels kernel_size stride padding",
    "ConvTranspose": "in_channels out_channels kernel_size stride padding",
    "MLP": "in_size out_size width_size depth",
    "MultiheadAttention": "num_heads query_size",
    "GroupNorm": "groups channels",
    "LayerNorm": "shape eps",
    "RMSNorm": "shape eps",
    "Embedding": "num_embeddings embedding_size",
    "GRUCell": "input_size hidden_size",
    "LSTMCell": "input_size hidden_size",
}


@dataclass(frozen=True)
class Difference:
    """How layers differ in more than arrays: the worst way, through which name, and in which field.

    `fresh` says that each has a function of its own there, `shared` that all have one and the same module, or with
    `taken` that some may, as it is taken by number. `odd` is the class of objects there that compare themselves,
    `sized` says that it is the shape of an array, `dtype` its dtype, `static` that it is a static field, `array` that
    what all share is one.
    """

    how: Vary
    via: str
    path: str
    fresh: bool = False
    shared: bool = False
    odd: str = ""
    sized: bool = False
    dtype: bool = False
    static: bool = False
    taken: bool = False
    array: bool = False

    @property
    def badness(self) -> tuple[Vary, bool]:
        """What the worst of several has most of: at run time nobody would see what objects hide that compare equal."""
        return self.how, bool(self.odd)

    @property
    def what(self) -> str:
        """What differs, as far as it is shown: the shape or the dtype of an array, a static field, a setting."""
        field = self.path.replace("[]", "")
        owner, _, last = field.rpartition(".")
        if self.sized:
            return f"the {'dtype' if self.dtype else 'shape'} of `{field}`" if field else "shape"
        if self.static:
            return f"the static field `{field}`"
        if last == "dtype" or last in _SIZES:
            kind = "dtype" if last == "dtype" else "shape"
            return f"the {kind} of `{owner}`" if owner else kind
        return f"the setting `{field}`" if owner else f"`{field}`" if field else ""


def difference(run: Interpreter, group: Group, *, fresh: bool = True) -> Difference | None:
    """How the elements that one expression makes differ in more than arrays; None where they do not.

    Without `fresh` it does not count that each has a function of its own, which is equal as code.
    """
    found = _differences(run, group.element, group, "", 0, set()) if group.repeated else ()
    return _worst(each for each in found if fresh or not each.fresh)


def _worst(found: Iterable[Difference]) -> Difference | None:
    worst: Difference | None = None
    for each in found:
        if worst is None or each.badness > worst.badness:
            worst = each
    return worst


def _entered(run: Interpreter, group: Group) -> int:
    """When the loop that makes the elements was entered; 0 where none does."""
    return run.loop_clocks.get(group.loops[0], 0) if group.loops else 0


def worst_mark(marks: Marks, group: Group) -> Mark | None:
    """How a value differs the most between the layers of a group; None where it does not."""
    return max((mark for mark in marks if mark.loop in group.loops), key=lambda mark: mark.how, default=None)


def _differences(
    run: Interpreter, value: Value, group: Group, path: str, depth: int, seen: set[int]
) -> Iterator[Difference]:
    mark = worst_mark(value.marks, group)
    match value:
        case Key():
            return
        case Array():
            shapes = [one for one in value.shape if one.loop in group.loops]
            worst = max(shapes, key=lambda one: one.how, default=None)
            if worst is not None and worst.how > Vary.KEY:
                yield Difference(max(worst.how, Vary.CHOICE), worst.via, path, sized=True, dtype=worst.dtype)
        case Instance():
            yield from _of_object(run, value, group, path, depth, seen)
        case OneOf():
            chosen = worst_mark(value.chosen, group)
            if chosen is not None:
                yield Difference(max(chosen.how, Vary.NUMBER), chosen.via, path)
            for option in value.options:
                yield from _differences(run, option, group, path, depth + 1, seen)
        case Listed():
            if mark is not None and mark.how > Vary.KEY:
                yield Difference(mark.how, mark.via, path)
            for inner_group in value.cell.made:
                yield from _differences(run, inner_group.element, group, f"{path}[]", depth + 1, seen)
        case Mapped():
            for inner in (*value.cell.entries.values(), *(each.element for each in value.cell.groups)):
                yield from _differences(run, inner, group, f"{path}[]", depth + 1, seen)
        case Function() | Partial() if value.fresh > _entered(run, group) > 0:
            yield Difference(Vary.OTHER, mark.via if mark is not None else "", path, fresh=True)
        case Number() | Text() | Const() | Function() | Partial():
            if mark is not None:  # a number that is made of a random key is another one in every layer
                yield Difference(max(mark.how, Vary.NUMBER), mark.via, path)
        case _:
            if mark is not None and mark.how > Vary.KEY:
                yield Difference(mark.how, mark.via, path)


def _of_object(
    run: Interpreter, value: Instance, group: Group, path: str, depth: int, seen: set[int]
) -> Iterator[Difference]:
    mark = worst_mark(value.marks, group)
    if id(value.fields) in seen:
        return
    seen.add(id(value.fields))
    start = _entered(run, group)
    whole = group.element.born if isinstance(group.element, Instance) else 0
    walked = is_walked(value.marks, group)  # else it was made before, or is one of a few
    before = depth and 0 < value.born < start <= whole and not walked
    if before and is_layer(run, value) and not _holds_settings(run, value):
        yield Difference(Vary.OTHER, value.name, path, shared=True, taken=mark is not None)
    if mark is not None and mark.how > Vary.KEY:
        yield Difference(mark.how, mark.via, path)
    inner_path = f"{path}." if path else ""
    within: list[Difference] = []
    for name, inner in list(value.fields.items()):
        there = f"{inner_path}{_written_as(value, name)}"
        found = _differences(run, inner, group, there, depth + 1, seen)
        if _is_static(run, value, name):
            within += [replace(each, static=True) for each in found]
            mark = worst_mark(held_marks(inner), group)  # it holds no array, so that it is another value in each layer
            within += [Difference(max(mark.how, Vary.NUMBER), mark.via, there, static=True)] if mark is not None else []
        else:
            within += found
        within += _same_array(run, value, name, group, there)
    yield from within
    own = isinstance(value.cls, Definition) and run.classes.method(value.cls, "__eq__") is not None
    via = _held_by(run, value, group, within) if own else None
    if via is not None:
        yield Difference(Vary.OTHER, via, path, odd=value.name)


def _holds_settings(run: Interpreter, value: Instance) -> bool:
    """Whether a module holds no array and no module, whoever makes it: each of its fields is static."""
    if not isinstance(value.cls, Definition) or run.classes.heirs(value.cls) or not run.classes.known_bases(value.cls):
        return False
    fields = run.classes.fields(value.cls)
    return bool(fields) and set(value.fields) <= set(fields) and all(map(is_static, fields.values()))


def is_static(field: Field) -> bool:
    """Whether a field is a part of the tree's structure: `field(static=True)`, or equinox's older `static_field()`."""
    if not isinstance(field.default, ast.Call):
        return False
    given, made_by = field.default.keywords, dotted(field.default.func) or ""
    return made_by.rpartition(".")[2] == "static_field" or any(
        each.arg == "static" and isinstance(each.value, ast.Constant) and each.value.value is True for each in given
    )


def _written_as(owner: Instance, name: str) -> str:
    """The name of what an object holds: that of an argument of a class of a library, for its place."""
    cls, place = owner.name.rpartition(".")[2].rstrip("123d"), name.removeprefix("argument ")
    names = _ARGUMENTS.get(cls, "").split() if place != name else []
    return names[int(place)] if place != name and int(place) < len(names) else name


def _is_static(run: Interpreter, owner: Instance, name: str) -> bool:
    field = run.classes.fields(owner.cls).get(name) if isinstance(owner.cls, Definition) else None
    return field is not None and is_static(field)


def _same_array(run: Interpreter, owner: Instance, name: str, group: Group, path: str) -> Iterator[Difference]:
    """An array that was there before the loop that makes the layers, and that each of them holds."""
    if nnx_module(owner.name):
        return  # its arguments make its arrays: an initializer is none
    start, value = _entered(run, group), owner.fields[name]
    if not 0 < start <= owner.born or worst_mark(value.marks, group) is not None:
        return
    arrays = (option for option in options(value) if isinstance(option, Array))  # it may be None, too
    traced = any(not option.numpy and 0 < option.born < start for option in arrays)
    if traced or (isinstance(value, Unknown) and value.given and not value.born and _is_array_field(run, owner, name)):
        yield Difference(Vary.OTHER, "array", path, shared=True, array=True)


def _is_array_field(run: Interpreter, owner: Instance, name: str) -> bool:
    """Whether a class says of one of its fields that it is an array."""
    from scanify.analysis.values.calls.attributes import class_env
    from scanify.analysis.values.code.annotations import annotated

    declared = run.classes.fields(owner.cls).get(name) if isinstance(owner.cls, Definition) else None
    if declared is None:
        return False
    said = annotated(run, class_env(run, declared.owner), declared.statement.annotation, name)
    return isinstance(said, Array) and not said.numpy


def _held_by(run: Interpreter, value: Instance, group: Group, within: Sequence[Difference]) -> str | None:
    """Through what an object differs between the layers; one that is no module in its arrays and functions too."""
    if within:
        return within[0].via
    start = _entered(run, group)
    if not start or is_layer(run, value) or run.classes.is_pytree(value.cls):
        return None
    for each, marks in held(value):
        mark = worst_mark(marks, group)
        made = each.fresh if isinstance(each, Function | Partial) else each.born if isinstance(each, Unknown) else 0
        if mark is not None or made > start:
            return mark.via if mark is not None else ""
    return None


# -- classes ---------------------------------------------------------------------------------------------------------


def instances(value: Value) -> list[Instance]:
    """The instances that a value may be."""
    return [option for option in options(value) if isinstance(option, Instance)]


def is_layer(run: Interpreter, value: Value) -> bool:
    """Whether a value is surely a module."""
    from scanify.analysis.index.meaning import External

    if not isinstance(value, Instance):
        return False
    meaning = External(value.cls.qualname) if isinstance(value.cls, Library) else value.cls
    if run.classes.is_module(meaning):
        return True
    return isinstance(value.cls, Library) and value.cls.qualname.rpartition(".")[2] in tables.STATEFUL_TYPES


def same_class(mine: Instance, other: Instance) -> bool:
    """Whether two instances are of the same class, as far as that is known."""
    if isinstance(mine.cls, Definition) and isinstance(other.cls, Definition):
        return mine.cls.node is other.cls.node
    return isinstance(mine.cls, Library) and isinstance(other.cls, Library) and mine.cls.qualname == other.cls.qualname


def distinct(found: Sequence[Instance]) -> list[Instance]:
    """One instance of each class."""
    kept: list[Instance] = []
    for each in found:
        if not any(same_class(each, other) for other in kept):
            kept.append(each)
    return kept


def stateful(run: Interpreter, value: Value, seen: set[int] | None = None) -> str | None:
    """The class of equinox in a layer that keeps state outside of it, whose index differs in each."""
    seen = set() if seen is None else seen
    for option in options(value):
        parts: list[Value] = []
        place = id(getattr(option, "fields", getattr(option, "cell", option)))
        if place in seen:
            continue
        seen.add(place)
        if isinstance(option, Instance):
            last = option.name.rpartition(".")[2]
            library = isinstance(option.cls, Library) and not nnx_module(option.name)  # where layers hold their state
            if library and last in tables.STATEFUL_TYPES:
                return last
            parts = list(option.fields.values())
        elif isinstance(option, Listed):
            parts = [group.element for group in option.cell.made]
        elif isinstance(option, Mapped):
            parts = [*option.cell.entries.values(), *(group.element for group in option.cell.groups)]
        for part in parts:
            if (held := stateful(run, part, seen)) is not None:
                return held
    return None


@dataclass(frozen=True)
class Unlike:
    """Arguments that differ between two expressions, as written; `in_rates` says that they are fractions alone."""

    text: str
    in_rates: bool = False


def unlike_pair(first: Group, other: Group) -> Unlike | None:
    """Why elements that two expressions make may differ in more than arrays, by the arguments as written."""
    mine, theirs = first.node, other.node
    if not isinstance(mine, ast.Call) or not isinstance(theirs, ast.Call):
        return None if ast.dump(mine) == ast.dump(theirs) else Unlike(_texts(mine, theirs))
    if len(mine.args) != len(theirs.args) or len(mine.keywords) != len(theirs.keywords):
        return Unlike(_texts(mine, theirs))
    keyed = any(keyword.arg == "key" for keyword in mine.keywords)
    pairs = [(None, a, b) for a, b in zip(mine.args, theirs.args, strict=True)]
    pairs += [(a.arg, a.value, b.value) for a, b in zip(mine.keywords, theirs.keywords, strict=True)]  # type: ignore[misc]
    rates: Unlike | None = None
    for keyword, a, b in pairs:
        if ast.dump(a) == ast.dump(b) or keyword == "key":
            continue
        if not keyed and _is_key(a) and _is_key(b):
            continue
        if not (_is_fraction(a) and _is_fraction(b)):
            return Unlike(_texts(a, b))
        rates = rates or Unlike(_texts(a, b), in_rates=True)
    return rates


def _texts(first: ast.AST, other: ast.AST) -> str:
    return f"`{ast.unparse(first)}` and `{ast.unparse(other)}`"


def _is_fraction(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def _is_key(node: ast.expr) -> bool:
    from scanify.analysis.values.classes import dotted
    from scanify.analysis.values.code.annotations import key_name

    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):
        return (dotted(node.func) or "").rpartition(".")[2] in ("split", "fold_in", "key", "PRNGKey", "next")
    name = dotted(node)
    return name is not None and key_name(name.rpartition(".")[2])
