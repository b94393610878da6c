"""The abstract values: what is known of a Python value without running anything.

Every value may carry marks: how it differs from one iteration of a loop to the next, and through which name.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place
from scanify.analysis.values.data import Data
from scanify.analysis.values.marks import Marks, Vary, merged
from scanify.analysis.values.replace import replace
from scanify.analysis.values.size import Extent, Size, either

if TYPE_CHECKING:
    from scanify.analysis.index.meaning import Definition
    from scanify.analysis.values.heap import DictCell, ListCell
    from scanify.analysis.values.objects.part import Part
    from scanify.analysis.values.run.environment import Env

_MOST = 8  # alternatives of one value that are kept apart
MANY = f"it may be one of more than {_MOST} values"


def shape_of(value: "Value") -> Marks:
    """The marks of what is read of a value's shape."""
    own = value.shape if isinstance(value, Array) else value.marks
    carried = tuple(replace(mark, how=Vary.CARRY_SHAPE) for mark in value.marks if mark.how is Vary.CARRY)
    return merged([own, carried])


def sized(marks: Marks) -> Marks:
    """The marks of a number that becomes a size: where a condition picks it, sizes repeat, else they need not."""
    return tuple(replace(mark, how=Vary.SHAPE) if mark.how in (Vary.NUMBER, Vary.OTHER) else mark for mark in marks)


def counted(value: "Value") -> Marks:
    """The marks of a value that becomes a size. What a caller lists as sizes are numbers, of which some repeat."""
    if isinstance(value, Listed) and value.cell.is_tuple:
        return merged(counted(group.element) for group in value.cell.groups)
    found = [each for each in options(value) if not isinstance(each, Number | Const)]
    if found and all(isinstance(each, Unknown) and each.given and not each.part for each in found):
        of_list = (Vary.NUMBER, Vary.OTHER)
        return tuple(replace(mark, how=Vary.LISTED) if mark.how in of_list else mark for mark in value.marks)
    return sized(value.marks)


@dataclass(frozen=True, eq=False)
class Unknown:
    """Nothing is known, and why: `at` is the place that the reason speaks of.

    `born` is when a call that is not shown gave it, 0 for all else: it may have been made there.
    `given` says that it is a parameter, or a part of one, for which any caller may give what it likes; `part` that it
    is an attribute or a part of an element, not the element itself. `computed` says that operators make it of numbers
    and parameters, so that it is the same each time. `extent` relates it to a carry's shape. `argument`: which one.
    """

    why: str
    at: Place | None = None
    marks: Marks = ()
    born: int = 0
    given: bool = False
    part: bool = False
    computed: bool = False
    extent: Extent | None = None
    data: Data = Data.OPEN
    argument: object = None

    def part_at(self, where: str) -> object:
        """What tells the part of an argument from others."""
        return self.argument and (self.argument, where)


@dataclass(frozen=True, eq=False)
class Const:
    """A Python constant whose value is known: None, a number, a string, True.

    Python calls `1`, `1.0` and `True` equal, and `0.0` and `-0.0`: here they are not, as they compute different things.
    """

    value: object
    marks: Marks = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Const):
            return NotImplemented
        mine, theirs = self.value, other.value
        if mine is not theirs:
            if type(mine) is not type(theirs) or mine != theirs:
                return False
            if type(mine) not in _EQUAL and repr(mine) != repr(theirs):
                return False
        return self.marks == other.marks

    def __hash__(self) -> int:
        return hash((self.value, self.marks))


_EQUAL = frozenset({int, str, bool, bytes, type(None)})  # that are equal only where they are the same


@dataclass(frozen=True)
class Number:
    """A Python number (an int, a float or a bool) of unknown value. `extent` relates it to a carry's shape."""

    marks: Marks = ()
    extent: Extent | None = None


@dataclass(frozen=True)
class Text:
    """A string of unknown value."""

    marks: Marks = ()


@dataclass(frozen=True)
class Key:
    """A PRNG key, or with `many` an array of keys, of which `count` says how many where that is known.

    `split` says that they come out of a split; others are keys by their names, and may be a list.
    """

    marks: Marks = ()
    many: bool = False
    count: int | None = None
    split: bool = False


@dataclass(frozen=True)
class Array:
    """An array, of numpy where `numpy` says so. `shape` are the marks of what its shape was made from, `size` how that
    differs from a carry's, `rows` the length of its first axis, where known, `cast` the last dtype, as written.
    """

    numpy: bool = False
    marks: Marks = ()
    shape: Marks = ()
    rows: int | None = None
    born: int = field(default=0, compare=False)
    cast: str = ""
    size: Size | None = None


@dataclass(eq=False)
class Instance:
    """An object of a class of the project or of a library, with its fields as far as they are known.

    `exact` says that it is of that very class; else it may be of a subclass. `fields` fill while a constructor runs.
    `whole` says that every field is in `fields`: a missing one does not exist. `taken` is the list that it is out of.
    """

    cls: "Definition | Library"
    fields: dict[str, "Value"] = field(default_factory=dict)
    exact: bool = True
    whole: bool = False
    marks: Marks = ()
    origin: str = ""
    node: ast.AST | None = None
    born: int = 0
    taken: "Part | None" = None

    @property
    def name(self) -> str:
        """The name of the class: as defined in the project, or qualified in a library."""
        return self.cls.name if not isinstance(self.cls, Library) else self.cls.qualname


@dataclass(frozen=True, eq=False)
class Listed:
    """A list or a tuple of the heap; two names for one cell are two names for one object."""

    cell: "ListCell"
    marks: Marks = ()


@dataclass(frozen=True, eq=False)
class Mapped:
    """A dict of the heap."""

    cell: "DictCell"
    marks: Marks = ()


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the project with the names around it; `bound` is the instance or class it is a method of.

    `fresh` is the number of the call that made it, 0 for a function of a module or a class; `bare` is the function
    itself, as its decorators are given it.
    """

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    env: "Env"
    bound: "Value | None" = None
    fresh: int = 0
    marks: Marks = ()
    bare: bool = False

    @property
    def name(self) -> str:
        """Its name; `<lambda>` for a lambda."""
        return getattr(self.node, "name", "<lambda>")


@dataclass(frozen=True, eq=False)
class Partial:
    """`functools.partial(function, ...)`, or a transformation of a function that calls it with more or fewer axes."""

    function: "Value"
    positional: tuple["Value", ...] = ()
    named: tuple[tuple[str, "Value"], ...] = ()
    through: str = "functools.partial"
    fresh: int = 0
    marks: Marks = ()


@dataclass(frozen=True)
class Class:
    """A class of the project."""

    definition: "Definition"
    marks: Marks = ()


@dataclass(frozen=True)
class Library:
    """Something of a library, by its qualified name: a function, a class, a package."""

    qualname: str
    marks: Marks = ()


@dataclass(frozen=True, eq=False)
class Method:
    """A method of a value that is no instance of the project's: `x.sum`, `keys.append`, `self.layers.items`."""

    owner: "Value"
    name: str
    marks: Marks = ()


@dataclass(frozen=True, eq=False)
class Walked:
    """What builtins give to be iterated: `zip`, `enumerate`, `range`, `reversed`, the views of a dict.

    `parts` are what is walked, each iterated in step with the others.
    """

    kind: str
    parts: tuple["Value", ...] = ()
    count: int | None = None
    marks: Marks = ()


@dataclass(frozen=True, eq=False)
class OneOf:
    """One of several values, as after a branch. `chosen` says in which loops another one may be in each iteration; the
    marks are those of the values, too."""

    options: tuple["Value", ...]
    marks: Marks = ()
    chosen: Marks = ()


Value = (
    Unknown
    | Const
    | Number
    | Text
    | Key
    | Array
    | Instance
    | Listed
    | Mapped
    | Function
    | Partial
    | Class
    | Library
    | Method
    | Walked
    | OneOf
)

NONE = Const(None)


def marked(value: Value, marks: Marks) -> Value:
    """The value with these marks beside its own. An instance gets a copy that shares its fields."""
    known = value.chosen if isinstance(value, OneOf) else value.marks
    if not marks or (known and merged([known, marks]) == known):
        return value
    if isinstance(value, OneOf):
        return replace(value, marks=merged([value.marks, marks]), chosen=merged([value.chosen, marks]))
    return replace(value, marks=merged([value.marks, marks]))


def without_marks(value: Value, loops: Sequence[int]) -> Value:
    """A value without the marks of loops that are left."""
    kept: Marks = tuple(mark for mark in value.marks if mark.loop not in loops)
    return value if len(kept) == len(value.marks) else replace(value, marks=kept)


def chosen(value: Value) -> Marks:
    """In which loops it is another one of several values in each iteration."""
    return value.chosen if isinstance(value, OneOf) else ()


def options(value: Value) -> Iterator[Value]:
    """Each of the values that it may be."""
    if value.__class__ is OneOf and isinstance(value, OneOf):
        for option in value.options:
            yield from options(option)
    else:
        yield value


def is_none(value: Value) -> bool:
    """Whether it is surely None."""
    return isinstance(value, Const) and value.value is None


def join(values: Iterable[Value], most: int = _MOST) -> Value:
    """What is known where it may be any of several values, of which so many are kept apart."""
    flat: list[Value] = []
    choices: list[Marks] = []
    for value in values:
        choices.append(chosen(value))
        for option in options(value) if value.__class__ is OneOf else (value,):
            for known in flat:
                if option is known or _same(option, known):
                    if _is_elsewhere(option, known):
                        flat = [option if each is known else each for each in flat]
                    break
            else:
                flat.append(option)
    if not flat:
        return Unknown("nothing shows a value")
    if len(flat) == 1:
        return flat[0]
    marks = merged([*(value.marks for value in flat), *choices])
    kinds = {value.__class__ for value in flat}
    arrays = [value for value in flat if isinstance(value, Array)]
    if kinds == {Array} and len({one.numpy for one in arrays}) == 1:
        shape, size = merged(one.shape for one in arrays), either([one.size for one in arrays])
        return Array(arrays[0].numpy, marks, shape, born=min(one.born for one in arrays), size=size)
    if kinds == {Key}:
        return Key(marks, any(isinstance(value, Key) and value.many for value in flat))
    for kind in (Number, Text):
        if kinds <= {kind, Const} and all(isinstance(value, kind) or _is_constant(value, kind) for value in flat):
            return kind(marks)
    unknown = next((value for value in flat if isinstance(value, Unknown)), None)
    if len(flat) > most:
        oldest = min(getattr(value, "born", 0) for value in flat)
        return replace(unknown or Unknown(MANY, marks=marks, born=oldest), data=Data.OPEN)
    return OneOf(tuple(flat), marks, merged(choices))


def unknown_once(values: Iterable[Value]) -> list[Value]:
    """What values may be, with what is not shown counted once: as old as the oldest, and given where all of it is."""
    flat = [option for value in values for option in options(value)]
    found = [option for option in flat if isinstance(option, Unknown)]
    if len(found) < 2:
        return flat
    given, part = all(each.given for each in found), any(each.part for each in found)
    born, marks = min(each.born for each in found), merged(each.marks for each in found)
    shown: list[Value] = [option for option in flat if not isinstance(option, Unknown)]
    computed = all(each.given or each.computed for each in found)
    extent = found[0].extent if len({each.extent for each in found}) == 1 else None
    argument = found[0].argument if len({each.argument for each in found}) == 1 else None
    joined = replace(found[0], marks=marks, born=born, given=given, part=part, computed=computed, extent=extent)
    joined = replace(joined, data=min(each.data for each in found), argument=argument)
    return [*shown, joined]


def _is_constant(value: Value, kind: type) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str if kind is Text else int | float)


def _is_elsewhere(mine: Value, other: Value) -> bool:
    """Whether of two that are else the same the first may be in more places: it was taken out of one, or is older."""
    if isinstance(mine, Array) and isinstance(other, Array):
        return mine.born < other.born
    return isinstance(mine, Instance) and mine.taken is not None


def _same(mine: Value, other: Value) -> bool:
    if mine.__class__ is not other.__class__:
        return False
    if isinstance(mine, Listed | Mapped) and isinstance(other, Listed | Mapped):
        return mine.cell is other.cell
    if isinstance(mine, Function) and isinstance(other, Function):
        return mine.node is other.node and mine.bound is other.bound and mine.bare == other.bare
    if isinstance(mine, Instance) and isinstance(other, Instance):
        return mine.fields is other.fields and mine.cls == other.cls
    return isinstance(mine, Const | Number | Text | Key | Array | Class | Library) and mine == other
