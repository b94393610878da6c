"""Abstract values of expressions, which track models, and a fixed point over all names."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from scanify.analysis.index import Module

_MAX_DEPTH, _MOST, _MAX_STEPS = 3, 32, 10_000


@dataclass(frozen=True)
class Named:
    """All functions, methods and classes in the project with one name, wherever they are defined."""

    name: str


TREE, UNKNOWN = "a tree", "?"
"""A model, its parameters, gradients or updates, or a container of one; a value that the source does not show."""
OBJECT, KNOWN, CONTAINER = "an object", "something known", "a container"
"""An object of a class of the project; a value from a listed library; a list, a dict or a set."""
MAKER, VALUED, PARTIAL = "makes trees", "makes a value and a tree", "has some arguments"
"""A function that returns a gradient; one that returns a value with it; one with some arguments bound."""
Atom: TypeAlias = Named | ast.Lambda | str
Value: TypeAlias = frozenset[tuple[tuple[int, ...], Atom]]
"""Everything that an expression may be: atoms, each at a path into nested tuples."""


def value_of(*atoms: Atom) -> Value:
    """Return the value that may be any of the atoms."""
    return frozenset(((), atom) for atom in atoms)


NOTHING, MODEL = value_of(), value_of(TREE)


def atoms_of(value: Value) -> set[Atom]:
    """Return all atoms of a value."""
    return {atom for _, atom in value}


def holds_tree(value: Value) -> bool:
    """True if a value may hold a model, or its parameters, gradients or updates."""
    return TREE in atoms_of(value)


def join(several: Iterable[Value], without: Iterable[Atom] = ()) -> Value:
    """Return the join of several values, without their paths and without some atoms."""
    return frozenset(((), atom) for each in several for _, atom in each if atom not in without)


def part(value: Value, at: int) -> Value:
    """Return an element of a tuple."""
    return frozenset((path[1:], atom) for path, atom in value if not path or path[0] == at)


def tuple_of(*parts: Value) -> Value:
    """Return the value of a tuple; deeply nested elements are merged."""
    return frozenset(((at, *path)[:_MAX_DEPTH], atom) for at, each in enumerate(parts) for path, atom in each)


@dataclass(frozen=True)
class Arguments:
    """Arguments of a call: positional, named, and `more`, which may be any argument."""

    given: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()
    more: Value = NOTHING

    @property
    def every(self) -> Value:
        """Return the join of all arguments."""
        return join([*self.given, *(value for _, value in self.named), self.more])

    def at(self, places: Iterable[int]) -> Value:
        """Return the arguments at some positions, joined with all that are not positional."""
        return join([*(self.given[at] for at in places if at < len(self.given)), replace(self, given=()).every])


class Store:
    """Values of names, attributes and results, and a worklist of code to evaluate again when one grows."""

    def __init__(self) -> None:
        self.complete, self.steps = True, 0
        self.values: dict[tuple[object, ...], Value] = {}
        self.units: dict[ast.AST, Module] = {}
        self._readers: dict[tuple[object, ...], set[ast.AST]] = {}
        self._waiting: dict[ast.AST, None] = {}
        self._current: ast.AST = ast.Pass()

    def read(self, *key: object) -> Value:
        """Return the current value of a key; the running unit runs again when it grows."""
        self._readers.setdefault(key, set()).add(self._current)
        return self.values.get(key, NOTHING)

    def give(self, value: Value, *key: object) -> None:
        """Add to the value of a key; an atom without a path covers the same atom at every path."""
        before = self.values.get(key, NOTHING)
        anywhere = {atom for path, atom in before | value if not path}
        after = frozenset((path, atom) for path, atom in before | value if not path or atom not in anywhere)
        after = after if len(after) <= _MOST else join([after])
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
        while self._waiting and self.steps < _MAX_STEPS + 20 * len(self.units):
            self.steps += 1
            self._current = next(iter(self._waiting))
            del self._waiting[self._current]
            self.run(self.units[self._current], self._current)
        self.complete = not self._waiting

    def run(self, module: Module, node: ast.AST) -> None:
        """Evaluate one unit."""
        raise NotImplementedError
