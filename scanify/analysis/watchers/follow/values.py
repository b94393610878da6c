"""Abstract values: models and what holds one, functions, classes, objects of the project or of a library."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from scanify.analysis.index import Definition, Module

_MAX_PARTS, _MAX_DEPTH, _MAX_ATOMS = 6, 3, 12
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Function:
    """A function of the project. `bound` counts the first parameters that have their arguments, such as `self`."""

    module: Module
    node: FunctionNode
    bound: int = 0


@dataclass(frozen=True)
class Library:
    """Something of a library by its name: `optax.adam`, its result `optax.adam()`, and methods of a result."""

    name: str


@dataclass(frozen=True)
class Gradient:
    """A function under `jax.grad` and the like. `of_model`: the gradients are those of a model for any arguments."""

    function: "Function | Library | Object | None"
    with_value: bool = False
    of_model: bool = False


@dataclass(frozen=True)
class Class:
    """A class of the project."""

    definition: Definition


@dataclass(frozen=True)
class Object:
    """An instance of a class of the project, or of one that inherits from it."""

    definition: Definition


TREE, OUTSIDE, MANY = "tree", "outside", "many"
"""A model, its parameters, gradients or updates, or what holds one; what code outside of the project may pass; more
functions and objects than are told apart."""
Atom: TypeAlias = Function | Library | Gradient | Class | Object | str


@dataclass(frozen=True)
class Held:
    """The abstract value of an expression: everything that it may be. `parts` are those of a tuple."""

    atoms: frozenset[Atom] = frozenset()
    parts: "tuple[Held, ...] | None" = None

    def __or__(self, other: "Held") -> "Held":
        if other in (self, NOTHING):
            return self
        if self == NOTHING:
            return other
        parts = None
        if self.parts is not None and other.parts is not None and len(self.parts) == len(other.parts):
            parts = tuple(one | two for one, two in zip(self.parts, other.parts, strict=True))
        atoms = self.atoms | other.atoms
        if len(atoms) > _MAX_ATOMS or MANY in atoms:
            atoms = frozenset({MANY, *(atoms & {TREE, OUTSIDE})})
        return Held(atoms, parts)

    @property
    def tree(self) -> bool:
        """True if it may hold a model, or parameters, gradients or updates of one."""
        return TREE in self.atoms

    @property
    def whole(self) -> "Held":
        """The value without its parts."""
        return Held(self.atoms) if self.parts is not None else self

    @property
    def trees(self) -> "Held":
        """The trees in the value, without anything else."""
        return MODEL if self.tree else NOTHING

    def part(self, at: int, of: int | None = None) -> "Held":
        """Return an element of a tuple; the whole value if there are no parts, or not `of` of them."""
        parts = self.parts or ()
        fits = -len(parts) <= at < len(parts) and (of is None or of == len(parts))
        return parts[at] if fits else self.whole

    def shifted(self, count: int) -> "Held":
        """Return functions whose next parameters have their arguments, as `functools.partial` makes them."""
        return Held(frozenset(replace(a, bound=a.bound + count) if isinstance(a, Function) else a for a in self.atoms))


def held(*atoms: Atom) -> Held:
    """Return the value of one of some atoms."""
    return Held(frozenset(atoms))


NOTHING, MODEL = held(), held(TREE)
ARRAY = Library("jax.numpy.array()")
"""Every array that a function of jax makes. So are its attributes, and what its methods return."""


def join(several: Iterable[Held]) -> Held:
    """Return the join of several values."""
    found = NOTHING
    for each in several:
        found |= each
    return found


def tuple_of(*parts: Held) -> Held:
    """Return the value of a tuple; without parts if they are many or nested deeply."""
    whole = join(each.whole for each in parts)
    if len(parts) > _MAX_PARTS or any(_depth(each) >= _MAX_DEPTH for each in parts):
        return whole
    return Held(whole.atoms, parts)


def _depth(value: Held) -> int:
    return 1 + max(map(_depth, value.parts), default=0) if value.parts is not None else 0
