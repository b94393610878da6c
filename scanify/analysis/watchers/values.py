"""What an expression may be, as far as it matters to where models go, and the values of names until none grows."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from scanify.analysis.index import Definition, Module

_MAX_PARTS, _MAX_DEPTH, _MAX_STEPS = 6, 3, 40_000


@dataclass(frozen=True)
class Named:
    """The functions, methods and classes of the project that have a name, wherever they are."""

    name: str


@dataclass(frozen=True)
class Instance:
    """An object of a class of the project, or of one that inherits from it."""

    owner: Definition


@dataclass(frozen=True)
class Wrapped:
    """A function in another form: `by` is "partial", "gradient" or "value and gradient"."""

    by: str
    function: "Atom | None"


TREE, UNKNOWN = "a tree", "?"
"""A model, its parameters, gradients or updates, or what holds one; what the source does not show."""
Atom: TypeAlias = Named | Instance | Wrapped | ast.Lambda | str
"""Any other text: something of a library by its name, `optax.adam`, or its result, `optax.adam()`."""


@dataclass(frozen=True)
class Value:
    """Everything that an expression may be. `parts` are those of a tuple; their atoms are among `atoms`."""

    atoms: frozenset[Atom] = frozenset()
    parts: "tuple[Value, ...] | None" = None

    def __or__(self, other: "Value") -> "Value":
        if self in (NOTHING, other) or other == NOTHING:
            return other if self == NOTHING else self
        parts = None
        if self.parts is not None and other.parts is not None and len(self.parts) == len(other.parts):
            parts = tuple(one | two for one, two in zip(self.parts, other.parts, strict=True))
        return Value(self.atoms | other.atoms, parts)

    @property
    def tree(self) -> bool:
        """True if it may hold a model, or parameters, gradients or updates of one."""
        return TREE in self.atoms

    @property
    def whole(self) -> "Value":
        """The value without its parts."""
        return Value(self.atoms) if self.parts is not None else self

    def part(self, at: int, of: int | None = None) -> "Value":
        """Return an element of a tuple; the whole value if there are no parts, or not `of` of them."""
        parts = self.parts or ()
        return parts[at] if at < len(parts) and of in (None, len(parts)) else self.whole


def value_of(*atoms: Atom) -> Value:
    """Return the value of one of some atoms."""
    return Value(frozenset(atoms))


NOTHING, MODEL = value_of(), value_of(TREE)


def join(several: Iterable[Value]) -> Value:
    """Return the join of several values, without their parts."""
    return Value(frozenset(atom for each in several for atom in each.atoms))


def tuple_of(*parts: Value) -> Value:
    """Return the value of a tuple; without parts if they are many, nested deeply, or hold nothing: values only grow."""
    whole = join(parts)
    shallow = len(parts) <= _MAX_PARTS and all(_depth(each) < _MAX_DEPTH for each in parts)
    return replace(whole, parts=parts) if shallow and whole.atoms else whole


def _depth(value: Value) -> int:
    return 1 + max(map(_depth, value.parts), default=0) if value.parts is not None else 0


class Store:
    """The values of names, attributes and results, and the code to evaluate again when one grows."""

    def __init__(self) -> None:
        self.complete, self.steps = True, 0
        self.values: dict[tuple[object, ...], Value] = {}
        self.units: dict[ast.AST, Module] = {}
        self._readers: dict[tuple[object, ...], set[ast.AST]] = {}
        self._waiting: dict[ast.AST, None] = {}
        self._current: ast.AST = ast.Pass()

    def read(self, *key: object) -> Value:
        """Return the value under a key so far; the unit that runs is run again when it grows."""
        self._readers.setdefault(key, set()).add(self._current)
        return self.values.get(key, NOTHING)

    def give(self, value: Value, *key: object) -> None:
        """Add to the value under a key."""
        before = self.values.get(key, NOTHING)
        after = before | value
        if after != before:
            self.values[key] = after
            self._waiting.update(dict.fromkeys(self._readers.get(key, ())))

    def add_unit(self, module: Module, node: ast.AST) -> None:
        """Put a function, a class body or a module on the worklist, once."""
        if node not in self.units:
            self.units[node] = module
            self._waiting[node] = None

    def settle(self) -> None:
        """Evaluate code until no value grows; `complete` is false if that takes too many steps."""
        while self._waiting and self.steps < _MAX_STEPS:
            self.steps += 1
            self._current = next(iter(self._waiting))
            del self._waiting[self._current]
            self.run(self.units[self._current], self._current)
        self.complete = not self._waiting

    def run(self, module: Module, node: ast.AST) -> None:
        """Evaluate one unit."""
        raise NotImplementedError
