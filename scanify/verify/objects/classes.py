"""Split classes into parts, to compare them completely."""

from __future__ import annotations

import abc
import copyreg
import functools
import inspect
import types
from _abc import _get_dump  # type: ignore[import-not-found]
from typing import Any

import equinox as eqx
from jax._src import tree_util

from scanify.verify.objects.statics import qualified

# Source locations, and entries that `class_parts` returns under other names.
_SPELLED_ELSEWHERE = frozenset(
    "__dict__ __weakref__ __module__ __firstlineno__ __static_attributes__ _abc_impl __annotations__ __annotate__ "
    "__annotate_func__ __annotations_cache__ __dataclass_fields__".split()
)


def class_parts(kind: type) -> dict[str, Any] | None:
    """Return namespace, bases, metaclass, annotations, fields and registrations of a class, by name.

    A dataclass without functions of its own is a record: callers find its fields by name, so their order does not
    matter. None if the annotations cannot be evaluated.
    """
    try:
        annotations = inspect.get_annotations(kind)
    except Exception:  # a name in them does not exist at run time
        return None
    space = {name: held for name, held in vars(kind).items() if name not in _SPELLED_ELSEWHERE}
    fields = dict(vars(kind).get("__dataclass_fields__", {}))
    if fields and _is_record(space):
        matched = tuple(name for name, field in fields.items() if field.init and not field.kw_only)
        made = {"__init__", "__doc__", *(["__match_args__"] if space.get("__match_args__") == matched else [])}
        space = {name: held for name, held in space.items() if name not in made}
        fields, annotations = ({name: held[name] for name in sorted(held)} for held in (fields, annotations))
    return {
        " (metaclass)": type(kind),
        " (bases)": kind.__bases__,
        ".__annotations__": annotations,
        " (fields)": fields,
        " (pickled by)": copyreg.dispatch_table.get(kind),
        " (registered with)": sorted(map(qualified, _registered_at(abc.get_cache_token()).get(kind, ()))),
        " (registered)": sorted(_registered_in(kind), key=lambda each: each.__qualname__),
        # Equinox registers a Module by its fields.
        " (pytree)": None if issubclass(kind, eqx.Module) else getattr(tree_util, "_registry", {}).get(kind),
        **{f".{name}": space[name] for name in sorted(space)},
    }


def _is_record(space: dict[str, Any]) -> bool:
    own = [held for name, held in space.items() if isinstance(held, types.FunctionType) and not _is_made(held)]
    wrapped = (property, classmethod, staticmethod, functools.cached_property)
    return not own and not any(isinstance(held, wrapped) for held in space.values())


def _is_made(function: types.FunctionType) -> bool:
    """True if `dataclasses` created a function, or a library has it for all classes."""
    return function.__code__.co_qualname.startswith("__create_fn__.") or function.__module__ == "dataclasses"


def _registered_in(kind: type) -> list[type]:
    found = (ref() for ref in _get_dump(kind)[0]) if isinstance(kind, abc.ABCMeta) else ()
    return [each for each in found if each is not None]


@functools.lru_cache(1)
def _registered_at(token: int) -> dict[type, list[type]]:
    """Return the abstract base classes that each class is registered with; `token` changes with registrations."""
    found: dict[type, list[type]] = {}
    waiting, seen = [object], {object}
    while waiting:
        kind = waiting.pop()
        below = set(type.__subclasses__(kind)) - seen
        seen |= below
        waiting += below
        for each in _registered_in(kind):
            found.setdefault(each, []).append(kind)
    return found
