"""Parts of values: elements, leaves, and arrays without what is known of their shapes."""

from collections.abc import Callable
from dataclasses import replace

from scanify.analysis.language.types import (
    Array,
    Function,
    Given,
    Items,
    LibraryObject,
    Nothing,
    Object,
    Static,
    Type,
    Types,
    Union,
    Unknown,
    join,
)


def element_of(value: Type) -> Type:
    """The type of an element of data."""
    if isinstance(value, Items):
        return value.element or Nothing()
    return (
        Array()
        if isinstance(value, Array)
        else Static()
        if isinstance(value, Static)
        else Unknown("its elements are not shown")
    )


def plain_arrays(values: Types) -> Type:
    """An array or arrays without what is known of shapes."""
    if len(values) == 1 and isinstance(values[0], Items):
        return (
            Items(values[0].kind, None, Array(), values[0].own)
            if values[0].parts is None
            else Items(values[0].kind, tuple(plain_arrays([each]) for each in values[0].parts), None, values[0].own)
        )
    return Array()


def leaf_of(value: Type) -> Type:
    """The type of a leaf of a tree."""
    match value:
        case Object() | LibraryObject() | Function():
            return Array()
        case Items():
            return leaf_of(value.element) if value.element is not None else Nothing()
        case Given():
            return Unknown(f"`{value.name}` has no type")
        case _:
            return value


def with_arrays(value: Type, change: Callable[[Array], Array]) -> Type:
    """A value with another array in the place of each of its arrays."""
    match value:
        case Array():
            return change(value)
        case Items(parts=tuple() as parts):
            return replace(value, parts=tuple(with_arrays(each, change) for each in parts))
        case Items(each=each) if each is not None:
            return replace(value, each=with_arrays(each, change))
        case Union(options=found):
            return join(with_arrays(each, change) for each in found)
        case _:
            return value
