"""Python's own functions, and the methods of arrays, Python values and containers: those that are listed."""

import ast
from functools import partial

from scanify.analysis.index.meaning import Definition
from scanify.analysis.language import tables
from scanify.analysis.language.base import Base
from scanify.analysis.language.shapes import cast_of, dtype_of
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
    Object,
    Static,
    Type,
    Types,
    Unknown,
    is_data,
    is_static,
    join,
    options,
    parts_of,
    without_none,
)

ACTING = frozenset(
    "print input open exec eval compile breakpoint __import__ globals locals setattr delattr next".split()
)

_CONTAINERS = {
    "list": "list", "sorted": "list", "tuple": "tuple", "set": "set", "frozenset": "set", "reversed": "iterator",
    "iter": "iterator",
}  # fmt: skip

_REDUCTIONS = frozenset("sum max min abs pow divmod round all any".split())

_LONGEST = 200  # numbers of a `range` that are counted

_CONVERSIONS = frozenset("int float bool complex str repr format hash ascii chr ord bin hex oct bytes".split())

_EXCEPTIONS = ("Error", "Exception", "Warning", "Iteration")

_STRINGS = frozenset(
    "format join startswith endswith lower upper strip split replace removeprefix removesuffix title isdigit index "
    "count items keys values get is_integer bit_length encode decode zfill ljust rjust partition rpartition lstrip "
    "rstrip rsplit isidentifier itemsize name kind real imag value as_integer_ratio newbyteorder capitalize".split()
)

_READS = frozenset("index count copy get items keys values".split())

_GROWS = frozenset("append extend insert add update setdefault appendleft extendleft".split())

_SHRINKS = frozenset("pop clear remove reverse sort popitem discard popleft".split())

_UPDATES = frozenset("set add subtract multiply mul divide power min max apply get".split())


class Python(Base):
    """The part of the walker that calls Python's own functions and methods."""

    def call_builtin(self, env: Env, node: ast.expr, name: str, args: Types, keywords: Named) -> Type:
        module = env.module
        if name.endswith(_EXCEPTIONS) or name == "NotImplemented":
            return Static()
        if name == "object":
            return Nothing()
        if name == "super" and not args:
            this = env.this or Nothing()
            return LibraryObject("builtins.super", (("this", this),))
        if any(not is_data(each) or isinstance(each, LibraryFunction) for each in keywords.values()) and name != "dict":
            return self.note(module, node, "it calls a function that it is passed")
        unknown = next((each for each in args if isinstance(without_none(each), Unknown)), None)
        if unknown is not None:
            return self.note(module, node, why_of(node, unknown))
        if name in ("isinstance", "issubclass"):
            return self._asked(env, node, args)
        if name == "type" and len(args) == 1 and isinstance(args[0], Object) and args[0].made is not None:
            return ClassOf(args[0].cls)
        if name in ("len", "callable", "id"):
            if name == "id":
                return self.note(module, node, "a rewrite makes other objects of the same values")
            if name == "len" and any(
                isinstance(each, Object) and self.classes.method(each.cls, "__len__") for each in args
            ):
                return self.note(module, node, "a class of the project defines its length")
            return Static()
        if name in ("getattr", "hasattr"):
            return self._by_name(env, node, name, args)
        if name == "range":
            return self._range(env, node, args)
        if name in _CONTAINERS:
            return self.container_made(env, node, name, args)
        if name in ("zip", "enumerate", "map", "filter"):
            return self._iterator(env, node, name, args)
        if name == "dict":
            if args and not isinstance(args[0], Items):
                return self.note(module, node, why_of(node, args[0]))
            return Items("dict", None, join(keywords.values()), self.own) if not args else args[0]
        if name in _REDUCTIONS:
            return self._reduced(env, node, name, args)
        if name in _CONVERSIONS or name == "slice":
            if any(self.asks(env, node, each, f"__{name}__", "__index__", "__float__") for each in args):
                return Static()
            if all(map(is_static, args)):
                return Static()
            self._needs_value(env, node, args)
            return Static()
        if name in ("property", "staticmethod", "classmethod") and args:
            return args[0]
        return self.note(module, node, f"`{name}` is not on the list of functions that only compute")

    def _range(self, env: Env, node: ast.expr, args: Types) -> Type:
        first = args[0].text if len(args) == 1 and isinstance(args[0], Static) else None
        if first is not None and first.isdecimal() and int(first) <= _LONGEST:
            return Items("tuple", (Static(),) * int(first), None, self.own)
        if all(map(is_static, args)):
            return Items("tuple", None, Static(), self.own)
        return self._needs_value(env, node, args)

    def container_made(self, env: Env, node: ast.expr, name: str, args: Types) -> Type:
        """`list`, `tuple`, `set`, and iterators over what is passed."""
        if name in ("set", "frozenset", "sorted") and not all(map(is_static, args)):
            return self._needs_value(env, node, args)
        kind = _CONTAINERS[name]
        source = args[0] if args else Items(kind, ())
        parts = source.parts if isinstance(source, Items) and source.kind != "dict" else None
        if parts is not None:
            return Items(kind, parts[::-1] if name == "reversed" else parts, None, self.own)
        return Items(kind, None, self.element(env.module, node, source), self.own)

    def _reduced(self, env: Env, node: ast.expr, name: str, args: Types) -> Type:
        """`sum` and its like of numbers, or of arrays if no value is needed."""
        inner = [each.element or Static() if isinstance(each, Items) else each for each in args]
        if all(map(is_static, inner)):
            return Static()
        if any(not is_data(each) or isinstance(each, Given) for each in inner):
            return self._needs_value(env, node, args)
        if name in ("max", "min", "all", "any"):
            return self.note(env.module, node, "it needs the values of arrays")
        return Array()

    def _needs_value(self, env: Env, node: ast.expr, args: Types) -> Unknown:
        bad = next((each for each in args if not is_static(each)), Nothing())
        return self.note(env.module, node, why_of(node, bad))

    def _asked(self, env: Env, node: ast.expr, args: Types) -> Type:
        if len(args) != 2:
            return Static()
        for each in options(args[0]):
            if isinstance(each, Object) and self.classes.method(each.cls, "__class__") is not None:
                return self.note(env.module, node, f"`{each.cls.name}` says itself of which class it is")
        kinds = args[1].parts if isinstance(args[1], Items) and args[1].parts is not None else (args[1],)
        for each in kinds:
            if not isinstance(each, ClassOf | LibraryFunction | Nothing | Static):
                return self.note(env.module, node, why_of(node, each))
            if (
                isinstance(each, ClassOf)
                and isinstance(each.cls, Definition)
                and not self.understood_class(env, node, each.cls)
            ):
                return Static()
            if isinstance(each, LibraryFunction) and each.qualname.startswith("numpy"):
                return self.note(env.module, node, "a scan makes jax arrays of numpy's")
        return Static()

    def _by_name(self, env: Env, node: ast.expr, name: str, args: Types) -> Type:
        if isinstance(node, ast.Call) and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant):
            text = node.args[1].value
            if isinstance(text, str) and isinstance(args[0], Object):
                found = self.attribute(env, node, args[0], text)
                return Static() if name == "hasattr" else join([found, *args[2:3]])
            if isinstance(text, str) and name == "hasattr" and is_data(args[0]):
                return Static()
        return self.note(env.module, node, "the attribute is not named in the source")

    def _iterator(self, env: Env, node: ast.expr, name: str, args: Types) -> Type:
        if name in ("map", "filter") and args:
            inner = [self.element(env.module, node, each) for each in args[1:]]
            found = self.call(env, node, args[0], inner, {})
            return Items("iterator", None, found if name == "map" else inner[0] if inner else Nothing(), self.own)
        numbered = name == "enumerate"
        used = args[:1] if numbered else args
        if all(isinstance(each, Items) and each.parts is not None and each.kind != "dict" for each in used):
            rows = list(
                zip(*(each.parts for each in used if isinstance(each, Items) and each.parts is not None), strict=False)
            )
            made = [Items("tuple", (*((Static(),) if numbered else ()), *row), None, self.own) for row in rows]
            return Items("iterator", tuple(made), None, self.own)
        inner = [self.element(env.module, node, each) for each in used]
        row = Items("tuple", (*((Static(),) if numbered else ()), *inner), None, self.own)
        return Items("iterator", None, row, self.own)

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
            return Array(of.shape, dtype_of([*args, *keywords.values(), Nothing()][0]), of.certain)
        if name == "reshape":
            if any(isinstance(each, Array) for size in args for each in parts_of(size)):
                return self.note(env.module, node, "the shape of its result depends on values")
            return Array(None, of.cast)
        if name in ("copy", "round", "clip", "conj", "block_until_ready", "cumsum", "cumprod"):
            return of
        return Array(None, cast_of(name, (), keywords, [of]))

    def container_method(self, env: Env, node: ast.expr, of: Items, name: str, args: Types, keywords: Named) -> Type:
        holder = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
        element = of.element or Nothing()
        if name in ("items", "values", "keys", "copy", "popitem"):
            self.in_order(env.module, holder, of)
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
            return Items(of.kind, of.parts, of.each, self.own)
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
