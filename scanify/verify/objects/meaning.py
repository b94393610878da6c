"""Do two functions, classes or objects of two versions do the same, as far as their code shows?

What a call returns beside arrays is run later, with arguments that nobody knows now. So it is the same only where its
code is, and the functions, classes and values that the code finds by name, and so on from there.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from scanify.verify.leaves.correspond import Slot, one_level
from scanify.verify.objects.mutable import unwrapped
from scanify.verify.objects.reaches import names, reads_unnamed, takes_by_text
from scanify.verify.objects.statics import Code, attributes, qualified, same_array, same_code
from scanify.verify.values.arrays import is_array

_MISSING = object()
_PLAIN = (float, complex, int, bool, str, bytes, type(None), types.EllipsisType)
_CONTAINERS = (dict, list, tuple, set, frozenset, types.MappingProxyType)
# Where classes of extensions come from. Those of them that are written in Python have functions of it.
_EXTENSIONS = frozenset({*sys.stdlib_module_names, "numpy", "jaxlib", "ml_dtypes"})
# What Python keeps in a class, and in an object of one.
_KEPT = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __firstlineno__ __static_attributes__ __abstractmethods__ _abc_impl "
    "__annotations__ __annotate__ __annotate_func__ __annotations_cache__ __dataclass_params__ __orig_bases__ "
    "__parameters__ __match_args__ __replace__ __dataclass_fields__".split()
)


def different_meaning(before: Any, after: Any) -> str | None:
    """The first function or class that two results hold and that is not seen to be the same; None where all are."""
    for (name, first), (_, second) in zip(_held(before), _held(after), strict=False):
        if not same_meaning(first, second):
            return name
    return None


def same_meaning(before: Any, after: Any) -> bool:
    """Whether two values are the same, functions and classes by what their code is and finds."""
    try:
        return _Meaning().same(before, after)
    except RecursionError:
        return False


def same_code_and_names(before: types.FunctionType, after: types.FunctionType) -> bool:
    """Whether two functions are the same, whatever they have captured or been given by default."""
    return same_meaning(Code(before), Code(after))


def _held(tree: Any) -> Iterator[tuple[str, Any]]:
    """The classes of the nodes of a pytree, and what is no array in it, each with a name for a reader."""
    node = one_level(tree)
    if node is None:
        if not isinstance(tree, Slot) and tree is not None:
            yield _named(tree), tree
        return
    yield _named(type(tree)), type(tree)
    if not isinstance(tree, list | tuple | dict):
        yield _named(tree), node[1]
    for _, child in node[0]:
        yield from _held(child)


def _named(value: Any) -> str:
    what = value.function if isinstance(value, Code) else value
    if isinstance(what, type):
        return f"an object of the class {what.__qualname__}"
    name = getattr(what, "__qualname__", None)
    return f"the function {name}" if name else f"an object of the class {type(what).__qualname__}"


class _Meaning:
    """Pairs that are being compared count as the same, so that functions may call each other."""

    def __init__(self) -> None:
        self.seen: set[tuple[int, int]] = set()
        self.modules: set[tuple[int, int, frozenset[str]]] = set()
        self.alive: list[Any] = []

    def same(self, a: Any, b: Any) -> bool:
        if a is b or (id(a), id(b)) in self.seen:
            return True
        self.seen.add((id(a), id(b)))
        self.alive += [a, b]
        if isinstance(a, type) and isinstance(b, type):
            return self._class(a, b)
        if isinstance(a, jax.core.Tracer) or isinstance(b, jax.core.Tracer):
            return False
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype.hasobject and b.dtype.hasobject:
            return self.same(*((type(x), x.shape, str(x.dtype), x.ravel().tolist()) for x in (a, b)))
        if is_array(a) or is_array(b):
            return is_array(a) and is_array(b) and same_array(a, b)
        if qualified(type(a)) != qualified(type(b)):
            return False
        if isinstance(a, Code):
            return self._code(a.function, b.function)
        if type(a) in _PLAIN:
            return repr(a) == repr(b)
        if isinstance(a, (*_PLAIN, enum.Enum)):
            plain = next((kind for kind in _PLAIN if isinstance(a, kind)), object)
            alike = plain is object or plain.__repr__(a) == plain.__repr__(b)
            return alike and self.same(*(_own(attributes(each)) for each in (a, b))) and self.same(type(a), type(b))
        return self._compound(a, b)

    def _compound(self, a: Any, b: Any) -> bool:
        if isinstance(a, types.FunctionType):
            parts = [(f.__closure__ or (), f.__defaults__, f.__kwdefaults__, _own(vars(f))) for f in (a, b)]
            return self._code(a, b) and self.same(*parts)
        if isinstance(a, types.CellType):
            return self.same(*(_contents(cell) for cell in (a, b)))
        if isinstance(a, types.CodeType):
            return same_code(a, b)
        if isinstance(a, types.ModuleType):
            return False  # of modules it is known what is taken from them: `_names`
        if isinstance(a, types.MethodType):
            return self.same((a.__func__, a.__self__), (b.__func__, b.__self__))
        if isinstance(a, functools.partial):
            return self.same(*((each.func, each.args, each.keywords, vars(each)) for each in (a, b)))
        if isinstance(a, property):
            return self.same((a.fget, a.fset), (b.fget, b.fset))
        if isinstance(a, staticmethod | classmethod):
            return self.same(a.__func__, b.__func__)
        if isinstance(a, functools._lru_cache_wrapper):  # what it has kept is not seen
            kept = [(each.cache_parameters(), each.__wrapped__) for each in (a, b)]
            return not a.cache_info().currsize and not b.cache_info().currsize and self.same(*kept)
        if isinstance(a, _CONTAINERS):
            return self._contents(a, b) and (type(a) in _CONTAINERS or self._beside_contents(a, b))
        return self._object(a, b)

    def _contents(self, a: Any, b: Any) -> bool:
        if isinstance(a, Mapping):
            return self.same(list(a), list(b)) and self.same([a[key] for key in list(a)], [b[key] for key in list(b)])
        if isinstance(a, list | tuple):
            return len(a) == len(b) and all(self.same(x, y) for x, y in zip(a, b, strict=True))
        return self.same(sorted(a, key=repr), sorted(b, key=repr))

    def _beside_contents(self, a: Any, b: Any) -> bool:
        """What an object of a class that is made of a container has beside what it contains."""
        made = [getattr(each, "default_factory", None) for each in (a, b)]
        return self.same(*made) and self.same(*(_own(attributes(x)) for x in (a, b))) and self.same(type(a), type(b))

    def _object(self, a: Any, b: Any) -> bool:
        if isinstance(a, jax.tree_util.PyTreeDef):
            return self.same(*((each.node_data(), each.children()) for each in (a, b))) and a.num_leaves == b.num_leaves
        held = [{} if _is_jitted(each) else attributes(each) for each in (a, b)]
        around = [unwrapped(each) for each in (a, b)]
        if around[0] is not None and around[1] is not None and not self.same(*around):
            return False
        if not held[0] and not held[1]:
            # A function of a library around the one that was compared, as jit makes it; anything else is not known.
            return around[0] is not None and around[1] is not None
        if not _shows_all(type(a)):
            return False
        return self.same(*map(_own, held)) and self.same(type(a), type(b))

    def _class(self, a: type, b: type) -> bool:
        if qualified(a) != qualified(b) or len(a.__bases__) != len(b.__bases__):
            return False
        if not all(map(self.same, a.__bases__, b.__bases__)) or not self.same(type(a), type(b)):
            return False
        return self.same(*(_own(_without_init(each)) for each in (a, b))) and self.same(*map(_fields, (a, b)))

    def _code(self, a: types.FunctionType, b: types.FunctionType) -> bool:
        if not same_code(a.__code__, b.__code__) or reads_unnamed(a.__code__):
            return False
        return self._names(a.__globals__, b.__globals__, frozenset(names(a.__code__)))

    def _names(self, a: Mapping[str, Any], b: Mapping[str, Any], named: frozenset[str]) -> bool:
        """The values that code finds under these names; of modules, those that they have under these names."""
        return all(self._under_name(a.get(name, _MISSING), b.get(name, _MISSING), named) for name in named)

    def _under_name(self, a: Any, b: Any, named: frozenset[str]) -> bool:
        if not (isinstance(a, types.ModuleType) and isinstance(b, types.ModuleType)):
            return self.same(a, b)
        pair = (id(a), id(b), named)
        if a is b or pair in self.modules:
            return True
        self.modules.add(pair)
        if takes_by_text(named) or type(a) is not types.ModuleType or type(b) is not types.ModuleType:
            return False
        return self._names(vars(a), vars(b), named | {"__getattr__"})


def _shows_all(kind: type) -> bool:
    """Whether all that an object of the class holds are its attributes. One that an extension makes may hold more, as
    generators of random numbers do.
    """
    return all(base is object or _is_written_in_python(base) for base in kind.__mro__)


def _is_written_in_python(kind: type) -> bool:
    by_statement = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, or by an extension
    root, functions = kind.__module__.partition(".")[0], (types.FunctionType, classmethod, staticmethod, property)
    written = root not in _EXTENSIONS or any(isinstance(each, functions) for each in vars(kind).values())
    return bool(kind.__flags__ & by_statement) and written


def _without_init(kind: type) -> dict[str, Any]:
    """What a class defines, but for the constructor that `dataclasses` writes of its fields."""
    init = vars(kind).get("__init__")
    made = isinstance(init, types.FunctionType) and init.__code__.co_qualname.startswith("__create_fn__.")
    own = dataclasses.is_dataclass(kind) and "__dataclass_fields__" in vars(kind)
    return {name: value for name, value in vars(kind).items() if name != "__init__" or not (made and own)}


def _fields(kind: type) -> list[tuple[Any, ...]]:
    """The fields of a dataclass by their names: an object has them under these, in whatever order they are written."""
    if not dataclasses.is_dataclass(kind):
        return []
    found = sorted(dataclasses.fields(kind), key=lambda field: field.name)
    return [
        (f.name, f.default, f.default_factory, f.init, f.repr, f.hash, f.compare, f.metadata, f.kw_only) for f in found
    ]


def _is_jitted(value: Any) -> bool:
    return type(value).__name__ == "PjitFunction"


def _own(held: Any) -> dict[str, Any] | None:
    return None if held is None else {str(name): held[name] for name in sorted(held, key=str) if name not in _KEPT}


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING
