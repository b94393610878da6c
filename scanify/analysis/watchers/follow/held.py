"""Abstract values: models and what holds one, functions, classes, objects of the project or of a library."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from scanify.analysis.index import Definition, Module

_MAX_PARTS, _MAX_DEPTH, _MAX_GIVEN, _MAX_KINDS = 6, 3, 6, 12
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Function:
    """A function of the project. `given` counts the first parameters that have their arguments already, such as `self`.

    `gives` names what a transformation makes of its result: "grad" or "value_and_grad", with "_aux" behind it if there
    is more, and "model_" before it if the gradients are those of a model whatever it is given.
    """

    module: Module
    node: FunctionNode
    given: int = 0
    gives: str = ""


@dataclass(frozen=True)
class Library:
    """A function of a library by its qualified name; `optax.adam().update` is a method of what `optax.adam` gives."""

    name: str
    gives: str = ""


@dataclass(frozen=True)
class Held:
    """The abstract value of an expression.

    `tree`: a model, its parameters, gradients or updates, or something that holds one. `functions` and `classes` of the
    project are what it may be, `objects` the classes that it may be an instance of, `made` the functions of libraries
    that may have made it. `outside`: code that is no part of the project may have given it. `parts` are those of a
    tuple. `many`: it may be too many functions and objects to name them, so none is named.
    """

    tree: bool = False
    functions: frozenset[Function | Library] = frozenset()
    classes: frozenset[Definition] = frozenset()
    objects: frozenset[Definition] = frozenset()
    made: frozenset[str] = frozenset()
    outside: bool = False
    parts: "tuple[Held, ...] | None" = None
    many: bool = False

    def __or__(self, other: "Held") -> "Held":
        if other is self or other == NOTHING:
            return self
        if self == NOTHING:
            return other
        parts = None
        if self.parts is not None and other.parts is not None and len(self.parts) == len(other.parts):
            parts = tuple(one | two for one, two in zip(self.parts, other.parts, strict=True))
        kinds = [len(one | two) for one, two in zip(self._kinds, other._kinds, strict=True)]
        if self.many or other.many or sum(kinds) > _MAX_KINDS:
            return Held(self.tree or other.tree, outside=self.outside or other.outside, parts=parts, many=True)
        return Held(
            self.tree or other.tree,
            self.functions | other.functions,
            self.classes | other.classes,
            self.objects | other.objects,
            self.made | other.made,
            self.outside or other.outside,
            parts,
        )

    @property
    def _kinds(self) -> tuple[frozenset[object], ...]:
        return self.functions, self.classes, self.objects, self.made

    @property
    def whole(self) -> "Held":
        """The value without its parts."""
        return replace(self, parts=None) if self.parts is not None else self

    def part(self, at: int, of: int | None = None) -> "Held":
        """Return an element of a tuple; the whole value if there are no parts, or not `of` of them."""
        parts = self.parts or ()
        fits = -len(parts) <= at < len(parts) and (of is None or of == len(parts))
        return parts[at] if fits else self.whole


NOTHING = Held()
TREE = Held(tree=True)


def join(held: Iterable[Held]) -> Held:
    """Return the join of several values."""
    found = NOTHING
    for each in held:
        found |= each
    return found


def tuple_of(parts: Iterable[Held]) -> Held:
    """Return the value of a tuple; without parts if they are many or nested deeply."""
    found = tuple(parts)
    whole = join(each.whole for each in found)
    if len(found) > _MAX_PARTS or any(_depth(each) >= _MAX_DEPTH for each in found):
        return whole
    return replace(whole, parts=found)


def _depth(held: Held) -> int:
    return 1 + max(map(_depth, held.parts), default=0) if held.parts is not None else 0


def transformed(held: Held, gives: str) -> Held:
    """Return functions under `jax.grad` and the like; see `Function.gives`."""
    functions = frozenset(replace(each, gives=gives) for each in held.functions)
    return replace(held.whole, functions=functions or frozenset({Library("", gives)}), tree=False, classes=frozenset())


def bound(held: Held, count: int) -> Held:
    """Return functions whose first parameters have their arguments, as `functools.partial` and methods do."""
    functions = frozenset(
        replace(each, given=min(each.given + count, _MAX_GIVEN)) if isinstance(each, Function) else each
        for each in held.functions
    )
    return replace(held.whole, functions=functions)
