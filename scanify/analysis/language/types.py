"""Types of values, as far as the source shows them.

A type does not include the value, except for constants and functions. `Unknown` is a value of any type; no operation
on it is understood.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.language.names import bound_several_times, is_bound_inside
from scanify.analysis.lower.scope import Scope

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Array:
    """An array of jax or numpy, or a pytree of arrays. Stacking turns a layer's numpy array into a jax array.

    `shape` is the name of the carry with the same shape, None if there is none; `cast` is the dtype of the last cast,
    as written. `certain` is False for a carry, which may be an object of a class that the project registers.
    """

    shape: str | None = None
    cast: str | None = None
    certain: bool = True


@dataclass(frozen=True)
class Given:
    """A value without annotation that the caller of the loop's function passes: data of any library.

    `line` is the line of the parameter. The result of a function that is not interpreted is named after it: `f()`.
    """

    name: str
    line: str = ""


@dataclass(frozen=True)
class Static:
    """A number, string, bool, dtype or shape. `text` is a constant as written."""

    text: str | None = None


GIVEN = "given "
"""Prefix for the text of a value of any type that the caller of a constructor passes to all layers."""


@dataclass(frozen=True)
class Nothing:
    """The type of None."""


@dataclass(frozen=True)
class Unknown:
    """A value of any type, and why its type is not known: "`feed` has type Any (line 12)".

    `noted`: it results from an operation that is an obligation already, so that operations on it are none.
    `declared`: its type comes from an annotation, and its value from the caller of a constructor.
    """

    why: str
    noted: bool = False
    declared: bool = False


@dataclass(frozen=True)
class Items:
    """A tuple, list, dict, set or iterator. `parts` are its elements in order; None if only `each` describes them.

    `own`: it is made in the iteration, which may change it. `declared`: an annotation describes its elements.
    """

    kind: str
    parts: "tuple[Type, ...] | None" = None
    each: "Type | None" = None
    own: bool = False
    declared: bool = False

    @property
    def element(self) -> "Type | None":
        """The type of an arbitrary element; None if the container is empty."""
        return join(self.parts) if self.parts else self.each


@dataclass(frozen=True)
class Object:
    """An object of a class of the project; unless `exact`, its class may be a subclass in the project."""

    cls: Definition
    exact: bool = False


@dataclass(frozen=True)
class LibraryObject:
    """An object of a library class. `arguments` were passed to its constructor; None if it is only declared."""

    qualname: str
    arguments: "tuple[tuple[str | int, Type], ...] | None" = None


@dataclass(frozen=True, eq=False)
class Env:
    """The names of a function that is interpreted, and the environment around it. Compared by identity.

    With `lazy` the function is not interpreted: the types of its names are found by their bindings when needed. `own`
    is the name of the object that is being constructed.
    """

    module: Module
    names: "dict[str, Type]" = field(default_factory=dict)
    outer: "Env | None" = None
    scope: Scope | None = None
    several: frozenset[str] | None = None  # names bound more than once, if this is not a whole function
    lazy: bool = False
    own: str = ""
    inline: bool = False  # a comprehension, which runs in place

    def lookup(self, name: str) -> "Type | None":
        """Return the type of a name of this function or an enclosing one; None for names of the module."""
        inner = False
        for env in self.chain():
            if name in env.names:
                if env.scope is not None and is_bound_inside(env.scope, name):
                    return Unknown(f"a function in the function binds or changes `{name}`")
                if inner and name in env.bound_several_times:
                    return Unknown(f"`{name}` is bound several times around the function")
                return env.names[name]
            inner |= not env.inline
        return None

    def chain(self) -> "Iterator[Env]":
        """Yield this environment and the enclosing ones, outwards."""
        env: Env | None = self
        while env is not None:
            yield env
            env = env.outer

    @property
    def bound_several_times(self) -> frozenset[str]:
        """The names that the function binds more than once."""
        if self.several is None:
            return bound_several_times(self.scope) if self.scope is not None else frozenset()
        return self.several

    @property
    def scope_around(self) -> Scope | None:
        """The enclosing scope whose names are found by their bindings."""
        return next((env.scope for env in self.chain() if env.lazy), None)

    @property
    def function(self) -> Scope | None:
        """The scope of the function that contains the code; None for the module."""
        return next((env.scope for env in self.chain() if env.scope is not None), None)

    def holder_of(self, name: str) -> "Env":
        """Return the environment that binds a name."""
        return next((env for env in self.chain() if name in env.names), self)

    def copy(self) -> "Env":
        """Return a copy for a branch, which binds names separately."""
        return replace(self, names=dict(self.names))


@dataclass(frozen=True)
class Function:
    """A function of the project, with its enclosing environment, and the object of a bound method."""

    module: Module
    node: FunctionNode
    around: Env | None = None
    bound: "Type | None" = None


@dataclass(frozen=True)
class LibraryFunction:
    """A function, a class or a method of a library, by its qualified name. `of` is the object of a method."""

    qualname: str
    of: "Type | None" = None


@dataclass(frozen=True)
class Mapped:
    """A function that `jax.vmap` maps over the first axis of arrays, or with `otherwise` over explicit axes."""

    function: "Type"
    otherwise: bool = False


@dataclass(frozen=True)
class ClassOf:
    """A class of the project, used as a value."""

    cls: Definition


@dataclass(frozen=True)
class Union:
    """One of several types."""

    options: "tuple[Type, ...]"


Type: TypeAlias = (
    Array
    | Given
    | Static
    | Nothing
    | Unknown
    | Items
    | Object
    | LibraryObject
    | Function
    | LibraryFunction
    | Mapped
    | ClassOf
    | Union
)

Types: TypeAlias = Sequence[Type]
Named: TypeAlias = Mapping[str, Type]


def options(value: Type | None) -> Sequence[Type]:
    """Return the alternatives of a type."""
    if isinstance(value, Union):
        return value.options
    return () if value is None else (value,)


def parts_of(value: Type | None) -> Iterator[Type]:
    """Yield the alternatives of a type, with containers replaced by their elements."""
    for option in options(value):
        if isinstance(option, Items):
            for each in option.parts or (option.each,):
                yield from parts_of(each)
        else:
            yield option


def join(values: "Iterable[Type | None]") -> Type:
    """Return the union of types. None is the type of an unbound name, which raises when it is read."""
    values = tuple(values)
    if len(values) == 1 and values[0] is not None and not isinstance(values[0], Union):
        return values[0]
    found: list[Type] = []
    for value in values:
        for option in options(value):
            merged = next((at for at, each in enumerate(found) if _merges(each, option)), None)
            if merged is not None:
                found[merged] = _merge(found[merged], option)
            elif option not in found:
                found.append(option)
    unknown = [each for each in found if isinstance(each, Unknown)]
    if unknown:
        return next((each for each in unknown if not each.noted), unknown[0])
    return found[0] if len(found) == 1 else Union(tuple(found)) if found else Nothing()


def _merges(one: Type, other: Type) -> bool:
    if isinstance(one, Items) and isinstance(other, Items):
        return one.kind == other.kind
    return type(one) is type(other) and isinstance(one, Array | Static)


def _merge(one: Type, other: Type) -> Type:
    if one == other:
        return one
    if isinstance(one, Array) and isinstance(other, Array):
        shape = one.shape if one.shape == other.shape else None
        return Array(shape, one.cast or other.cast, one.certain and other.certain)
    if isinstance(one, Items) and isinstance(other, Items):
        own, declared = one.own and other.own, one.declared and other.declared
        elements = [each.element for each in (one, other) if each.element is not None]
        return Items(one.kind, None, join(elements) if elements else None, own, declared)
    return Static()


def without_none(value: Type) -> Type:
    """Return a type without the alternative None."""
    if not isinstance(value, Union):
        return value
    return join(option for option in options(value) if not isinstance(option, Nothing))


def is_static(value: Type) -> bool:
    """True if Python knows the value while jax traces."""
    return _consists_of(value, (Static, Nothing, ClassOf, Function, LibraryFunction))


def is_data(value: Type) -> bool:
    """True if an array function accepts the value and calls no code of the project for it."""
    return _consists_of(value, (Array, Static, Nothing, Given, ClassOf, LibraryFunction))


def _consists_of(value: Type, kinds: tuple[type, ...]) -> bool:
    """True if all alternatives and elements of a value are of the given kinds, or come from obligations."""
    match value:
        case Unknown(noted=noted):
            return noted
        case Items(element=element):
            return element is None or _consists_of(element, kinds)
        case Union(options=found):
            return all(_consists_of(each, kinds) for each in found)
        case _:
            return isinstance(value, kinds)


def is_changeable(value: Items) -> bool:
    """True for lists, dicts and sets."""
    return value.kind in ("list", "dict", "set")


def held(value: Type) -> Type:
    """Return the type of a value inside another container; unknown for a container, which code may change unseen."""
    if any(isinstance(each, Items) and is_changeable(each) and not each.declared for each in options(value)):
        return Unknown("it is a container in another one, which code may change")
    return value


def is_fixed(value: Type) -> bool:
    """True if no part of a value is a container that code may change."""
    found = [each for each in options(value) if isinstance(each, Items)]
    parts = [part for each in found for part in each.parts or (each.each,) if part is not None]
    return not any(map(is_changeable, found)) and all(map(is_fixed, parts))
