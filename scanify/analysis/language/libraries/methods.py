"""Methods of arrays, Python values and containers: those that are listed, and what they change."""

import ast
from functools import partial

from scanify.analysis.language import tables
from scanify.analysis.language.base import Base
from scanify.analysis.language.shapes import cast_of, keeps_cast
from scanify.analysis.language.syntax.operators import why_of
from scanify.analysis.language.types import (
    Array,
    ClassOf,
    Env,
    Function,
    Given,
    Items,
    LibraryFunction,
    LibraryObject,
    Named,
    Nothing,
    Static,
    Type,
    Types,
    Unknown,
    is_data,
    is_static,
    join,
    parts_of,
)

_STRINGS = frozenset(
    "format join startswith endswith lower upper strip split replace removeprefix removesuffix title isdigit index "
    "count items keys values get is_integer bit_length encode decode zfill ljust rjust partition rpartition lstrip "
    "rstrip rsplit isidentifier itemsize name kind real imag value as_integer_ratio newbyteorder capitalize".split()
)
_READS = frozenset("index count copy get items keys values".split())
_GROWS = frozenset("append extend insert add update setdefault appendleft extendleft".split())
_SHRINKS = frozenset("pop clear remove reverse sort popitem discard popleft".split())
_UPDATES = frozenset("set add subtract multiply mul divide power min max apply get".split())


class Methods(Base):
    """The part of the walker that calls methods."""

    def call_method(
        self, env: Env, node: ast.expr, callee: LibraryFunction, package: str, name: str, args: Types, keywords: Named
    ) -> Type:
        of = callee.of
        values = [*args, *keywords.values()]
        bad = next((each for each in values if not is_data(each) and not isinstance(each, Function | ClassOf)), None)
        if package == "items" and isinstance(of, Items):
            return self.container_method(env, node, of, name, args, keywords)
        if bad is not None:
            return self.note(env.module, node, why_of(node, bad))
        if package == "static":
            if name in _STRINGS | tables.PURE_METHODS:
                return Static()
            return self.note(env.module, node, f"`.{name}` of a Python value is not listed")
        if package == "array" and isinstance(of, Array):
            return self.call_array_method(env, node, of, name, args, keywords)
        if package == "jax.at" and isinstance(of, LibraryObject):
            if name not in _UPDATES or not all(isinstance(each, Array | Static | Given | Items) for each in values):
                return self.note(env.module, node, f"`.at[...].{name}` is not listed")
            return dict(of.arguments or ())["of"] if name != "get" else Array()
        return self.note(env.module, node, f"`.{name}` is not listed")

    def call_array_method(self, env: Env, node: ast.expr, of: Array, name: str, args: Types, keywords: Named) -> Type:
        """A method of an array."""
        if name in tables.CONCRETE_METHODS:
            return self.note(env.module, node, "it needs the value of an array, which a scan does not have")
        if name not in tables.PURE_METHODS or name in _STRINGS - {"copy"}:
            return self.note(env.module, node, f"`.{name}` of an array is not listed")
        if name == "astype":
            back = bool(args) and isinstance(args[0], Static) and (args[0].text or "").startswith("dtype:")
            text = None if back or not isinstance(node, ast.Call) or not node.args else ast.unparse(node.args[0])
            return Array(of.shape, "complex" if "complex" in (text or "") else text, of.certain)
        if name == "reshape":
            if any(isinstance(each, Array) for size in args for each in parts_of(size)):
                return self.note(env.module, node, "the shape of its result depends on values")
            return Array(None, of.cast)
        if name in ("copy", "round", "clip", "conj", "block_until_ready", "cumsum", "cumprod"):
            return of
        return Array(None, cast_of(node, name, (), keywords) or (of.cast if keeps_cast(name) else None))

    def container_method(self, env: Env, node: ast.expr, of: Items, name: str, args: Types, keywords: Named) -> Type:
        holder = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
        element = of.element or Nothing()
        if name in ("items", "values", "keys", "copy", "popitem"):
            self.in_order(env.module, holder, of)  # type: ignore[attr-defined]
        if name in ("items",) and of.kind == "dict":
            return Items("iterator", None, Items("tuple", (Static(), element), None, self.own), self.own)
        if name == "values":
            return Items("iterator", of.parts, of.each, self.own)
        if name == "keys":
            return Items("iterator", None, Static(), self.own)
        if name == "get" and of.kind == "dict":
            known = args[0] if args else None
            if not all(map(is_static, args[:1])):
                return self.note(env.module, node, why_of(node, known or Nothing()))
            return join([element, *(args[1:] or [Nothing()])])
        if name == "copy":
            return Items(of.kind, of.parts, of.each, self.own, of.keys)
        if name in ("index", "count"):
            if is_static(of) and all(map(is_static, args)):
                return Static()
            return self.note(env.module, node, "a search compares its elements")
        if name == "sort" and not all(map(is_data, keywords.values())):
            return self.note(env.module, node, "it calls a function that it is passed")
        if name in _GROWS | _SHRINKS and of.kind != "tuple":
            if name == "sort" and (keywords or not is_static(of)):
                return self.note(env.module, node, "it compares the elements")
            added = [*(args[-1:] if name in _GROWS else ()), *keywords.values()]
            if name in ("extend", "update", "extendleft"):
                added = [*map(partial(self._elements_added, env, node, of), args), *keywords.values()]
            self.change(env, node, holder, of, join(added) if added else None)
            return element if name in ("pop", "setdefault", "popitem", "popleft") else Nothing()
        return self.note(env.module, node, f"`.{name}` of a container is not listed")

    def _elements_added(self, env: Env, node: ast.expr, holder: Items, given: Type) -> Type:
        """The type of the elements that a container gets from another one: of a dict its values."""
        if isinstance(given, Items) and holder.kind == "dict":
            return (given.element or Nothing()) if given.kind == "dict" else Unknown("a dict is made of pairs")
        return self.element(env.module, node, given)
