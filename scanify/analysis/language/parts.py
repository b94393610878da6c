"""Parts of values: elements, and arrays without what is known of their shapes."""

from collections.abc import Callable
from dataclasses import replace

from scanify.analysis.language import types as t


def element_of(value: t.Type) -> t.Type:
    """The type of an element of data."""
    match value:
        case t.Items(element=element):
            return element or t.Nothing()
        case t.Array() | t.Static():
            return type(value)()
        case _:
            return t.Unknown("its elements are not shown")


def with_arrays(value: t.Type, change: Callable[[t.Array], t.Array] = lambda _: t.Array()) -> t.Type:
    """A value with another array in the place of each of its arrays; one of no known shape, if nothing else is said."""
    match value:
        case t.Array():
            return change(value)
        case t.Items(parts=parts, each=each):
            changed = tuple(with_arrays(part, change) for part in parts or ())
            return replace(value, parts=changed if parts is not None else None, each=each and with_arrays(each, change))
        case t.Union(options=found):
            return t.join(with_arrays(option, change) for option in found)
        case _:
            return value
