"""What an expression may be, as far as it matters to where models go, and the values of names until none grows."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from scanify.analysis.index import Module

_MAX_DEPTH, _MOST, _MAX_STEPS = 3, 32, 10_000


@dataclass(frozen=True)
class Named:
    """The functions, methods and classes of the project that have a name, wherever they are."""

    name: str


TREE, UNKNOWN = "a tree", "?"
"""A model, its parameters, gradients or updates, or what holds one; something that the source does not show."""
OBJECT, KNOWN, CONTAINER = "an object", "something known", "a container"
"""An object of a class of the project; something of a listed library; a list, a dict or a set."""
MAKER, VALUED, PARTIAL = "makes trees", "makes a value and a tree", "has some arguments"
"""A function that returns a gradient, or a value with one; one that already has some of its arguments."""
Atom: TypeAlias = Named | ast.Lambda | str
Value: TypeAlias = frozenset[tuple[tuple[int, ...], Atom]]
"""Everything that an expression may be: atoms, each at a path into nested tuples."""


def value_of(*atoms: Atom) -> Value:
    """Return the value of one of some atoms."""
    return frozenset(((), atom) for atom in atoms)


NOTHING, MODEL = value_of(), value_of(TREE)


def atoms_of(value: Value) -> set[Atom]:
    """Return all atoms of a value."""
    return {atom for _, atom in value}


def holds_tree(value: Value) -> bool:
    """True if it may hold a model, or parameters, gradients or updates of one."""
    return TREE in atoms_of(value)


def join(several: Iterable[Value], without: Iterable[Atom] = ()) -> Value:
    """Return the join of several values, without their paths and without some atoms."""
    return frozenset(((), atom) for each in several for _, atom in each if atom not in without)


def part(value: Value, at: int) -> Value:
    """Return an element of a tuple."""
    return frozenset((path[1:], atom) for path, atom in value if not path or path[0] == at)


def tuple_of(*parts: Value) -> Value:
    """Return the value of a tuple; elements deep inside are not told apart."""
    return frozenset(((at, *path)[:_MAX_DEPTH], atom) for at, each in enumerate(parts) for path, atom in each)


@dataclass(frozen=True)
class Arguments:
    """What a call passes: by position, by name, and `more`, which may be any argument."""

    given: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()
    more: Value = NOTHING

    @property
    def every(self) -> Value:
        """Everything that is passed."""
        return join([*self.given, *(value for _, value in self.named), self.more])

    def at(self, places: Iterable[int]) -> Value:
        """Return what is passed at some positions, or not by position."""
        return join([*(self.given[at] for at in places if at < len(self.given)), replace(self, given=()).every])


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
        """Add to the value under a key: an atom that may be anywhere is at no path."""
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
