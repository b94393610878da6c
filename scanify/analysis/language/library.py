"""Calls of libraries and of Python's own functions: what is listed only computes, or calls the functions it is passed.

A name that is not listed is not understood. The lists are of functions, never of whole packages (`exports.txt`).
"""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.language.base import Base, code_of
from scanify.analysis.language.expressions import noted_in, why_of
from scanify.analysis.language.shapes import KEEPS_SHAPE, SAME_SHAPE, cast_of, texts, turned, weakened, whole_shape
from scanify.analysis.language.types import (
    Applied,
    Array,
    ClassOf,
    Env,
    Function,
    Given,
    Items,
    LibraryFunction,
    LibraryObject,
    Nothing,
    Object,
    Static,
    Type,
    Unknown,
    is_data,
    is_static,
    join,
    keywords_of,
    options,
    without_none,
)
from scanify.analysis.values import tables

Types = Sequence[Type]
Named = Mapping[str, Type]

_STATEFUL = ("BatchNorm", "SpectralNorm")
_SAID = {
    "jax.debug.print": "prints for each layer, in the backward pass too if layers are recomputed there",
    "warnings.warn": "warns once, while the layers are traced",
}
_HOST = ("numpy", "math", "cmath", "scipy")
_ARRAYS = ("jax", "equinox", "einops")
_STATIC_PACKAGES = frozenset("math cmath operator itertools re copy dataclasses typing collections functools".split())
_STRINGS = frozenset(
    "format join startswith endswith lower upper strip split replace removeprefix removesuffix title isdigit index count "
    "items keys values get is_integer bit_length encode decode zfill ljust rjust partition rpartition lstrip rstrip "
    "rsplit isidentifier itemsize name kind real imag value as_integer_ratio newbyteorder capitalize".split()
)
_READS = frozenset("index count copy get items keys values".split())
_GROWS = frozenset("append extend insert add update setdefault appendleft extendleft".split())
_SHRINKS = frozenset("pop clear remove reverse sort popitem discard popleft".split())
_UPDATES = frozenset("set add subtract multiply mul divide power min max apply get".split())
_CONVERSIONS = frozenset("int float bool complex str repr format hash ascii chr ord bin hex oct bytes".split())
_EXCEPTIONS = ("Error", "Exception", "Warning", "Iteration")
_MANY = frozenset("jax.random.split".split())
_TRANSFORMS = tables.CALLERS - {"functools.lru_cache", "functools.cache", "functools.wraps"} | {
    "jax.named_call", "jax.shard_map", "jax.experimental.shard_map.shard_map", "jax.numpy.vectorize", "jax.jvp"
}  # fmt: skip


class Libraries(Base):
    """The part of the walker that knows libraries."""

    def call_library(self, env: Env, node: ast.expr, callee: LibraryFunction, args: Types, keywords: Named) -> Type:
        """The type that a listed function returns."""
        qualname = callee.qualname
        package, _, name = qualname.rpartition(".")
        if (noted := noted_in([*args, *keywords.values()])) is not None:
            return noted
        if callee.of is not None:
            return self._method(env, node, callee, package, name, args, keywords)
        if package == "builtins":
            return self._builtin(env, node, name, args, keywords)
        if qualname in _TRANSFORMS or qualname == "functools.partial":
            return self._transformed(env, node, qualname, args, keywords)
        if qualname == "dataclasses.replace" and args and isinstance(args[0], Object):
            return self._replaced(env, node, args[0], keywords)
        if qualname in _MANY:
            return self._computed(env, node, qualname, args, keywords)
        handler = _HIGHER.get(name) if package.partition(".")[0] in ("jax", "equinox", "functools", "itertools") else None
        if handler is not None and tables.is_listed(qualname) or qualname == "equinox.tree_at":
            return self._higher(env, node, name, handler or "at", args, keywords)
        if qualname in tables.MANAGERS or qualname in tables.IDENTITIES:
            return args[0] if args else Static()
        if tables.is_listed(qualname):
            return self._computed(env, node, qualname, args, keywords)
        if qualname in _SAID:
            self.notes.setdefault(f"`{qualname}` {_SAID[qualname]}" if not self.muted else "", None)
            return Nothing()
        if qualname.startswith(tables.IMPURE) and not self.muted:
            return self.effect(env.module, node, f"`{code_of(env.module, node)}` has a side effect")
        text = f"`{qualname}` is not on the list of functions that only compute; give a case"
        return self.note(env.module, node, text)

    def _replaced(self, env: Env, node: ast.expr, value: Object, keywords: Named) -> Type:
        """A copy of an object with other fields, which the constructor of its class makes."""
        if any(self.classes.method(value.cls, each) for each in ("__init__", "__post_init__", "__check_init__")):
            return self.note(env.module, node, f"the constructor of `{value.cls.name}` runs")
        return Object(value.cls, keywords_of({**dict(value.fields or ()), **keywords})) if value.fields else value

    def _computed(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type:
        """The result of a function that only computes, given data."""
        package, _, name = qualname.rpartition(".")
        root = package.partition(".")[0]
        values = [*args, *keywords.values()]
        takes_functions = name in tables.TAKERS_OF_FUNCTIONS or name in ("apply_along_axis", "piecewise", "fromfunction")
        for value in values:
            for option in options(value):
                if takes_functions and not isinstance(option, Array | Static | Nothing | Items):
                    return self.note(env.module, node, "it calls the function that it is passed, which is not followed")
                if not is_data(option) and not self._is_tree(option, package):
                    return self.note(env.module, node, why_of(node.args[0] if isinstance(node, ast.Call) and node.args else node, option))
        if root in _HOST and self.muted:
            return self._of_python(name, root, [])
        if root in _HOST and not all(map(is_static, values)):
            return self.note(env.module, node, f"`{qualname}` needs the value of an array")
        if root in _HOST or root in _STATIC_PACKAGES or name in tables.MEASURING:
            return self._of_python(name, root, args)
        self._learn(env, node, name)
        if name in ("meshgrid", "split", "array_split", "unstack", "broadcast_arrays", "hsplit", "vsplit", "tree_leaves", "leaves"):
            return Array() if name == "split" and root == "jax" and package.endswith("random") else Items("list", None, _plain(args))
        if all(map(is_static, values)) and name in ("default_backend", "devices", "device_count", "key_impl", "named_scope"):
            return Static()
        if name in tables.SHAPED_BY_VALUES and "size" not in keywords:
            return self.note(env.module, node, "the shape of its result depends on values")
        arrays = [option for value in values for option in options(value) if isinstance(option, Array)]
        cast = cast_of(node, keywords) or next((each.cast for each in arrays[name == "where" :] if each.cast), None)
        shapes = {each.shape for each in arrays} - {None}
        if name in SAME_SHAPE and len(shapes) == 1:
            return Array(shapes.pop(), cast)
        if name in ("transpose", "swapaxes", "matrix_transpose", "moveaxis") and args and isinstance(args[0], Array):
            return turned(args[0], f"{name}({texts(args[1:])})")
        if name in ("reshape", "broadcast_to") and (shape := whole_shape(args[1:])) is not None:
            return Array(shape, cast)
        return Array(None, cast)

    def _of_python(self, name: str, root: str, args: Types) -> Type:
        if root == "itertools":
            parts = [each for each in args]
            return Items("iterator", None, Items("tuple", tuple(_inner(each) for each in parts), None, self.tick()), self.tick())
        if root == "copy" and args:
            return args[0]
        return Static() if all(map(is_static, args)) else Array()

    def _is_tree(self, value: Type, package: str) -> bool:
        """True if a function on trees is passed a module, into which jax looks."""
        trees = package in ("jax.tree", "jax.tree_util", "equinox", "equinox.nn", "jax")
        return trees and isinstance(value, Object | LibraryObject | Function | Applied | ClassOf)

    def _learn(self, env: Env, node: ast.expr, name: str) -> None:
        """An argument that a function of arrays is passed is an array afterwards: another would have raised."""
        if not isinstance(node, ast.Call) or name in ("asarray", "array", "stack", "concatenate", "shape", "where"):
            return
        for each in node.args[:1]:
            if isinstance(each, ast.Name) and isinstance(env.names.get(each.id), Given):
                env.names[each.id] = Array(certain=False)

    # -- functions that call functions -----------------------------------------------------------------------------

    def _transformed(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type:
        if not args:
            rest = keywords_of(keywords)
            return Applied("functools.partial", LibraryFunction(qualname), (), rest) if keywords else LibraryFunction(qualname)
        if isinstance(args[0], Array | Static | Nothing | Given):
            return self.note(env.module, node, why_of(node.args[0] if isinstance(node, ast.Call) else node, args[0]))
        for value in (*args[1:], *keywords.values()):
            if qualname != "functools.partial" and not is_data(value) and not isinstance(value, Function | Applied):
                return self.note(env.module, node, "an argument of the transformation is not understood")
        if qualname == "functools.partial":
            return Applied(qualname, args[0], tuple(args[1:]), keywords_of(keywords))
        if qualname in ("jax.jvp", "jax.linearize"):
            self.call(env, node, args[0], [Array()], {})
            return Items("tuple", (Array(), LibraryFunction("jax.lax.stop_gradient")), None, self.tick())
        moved = any(not _is_first_axis(keywords[each]) for each in ("in_axes", "out_axes", "in_specs") if each in keywords)
        return Applied(f"{qualname} moved" if moved else qualname, args[0])

    def call_applied(self, env: Env, node: ast.expr, callee: Applied, args: Types, keywords: Named) -> Type:
        """Call what a transformation returned: it calls the function."""
        if callee.by == "rules":
            for rule in callee.arguments:
                self._call_rule(env, node, rule, args)
            return self.call(env, node, callee.function, args, keywords)
        if callee.by == "functools.partial":
            return self.call(env, node, callee.function, [*callee.arguments, *args], {**dict(callee.keywords), **keywords})
        inner = list(args)
        found = self.call(env, node, callee.function, inner, keywords)
        name = callee.by.partition(" ")[0].rpartition(".")[2]
        if name in ("grad", "filter_grad", "jacfwd", "jacrev", "hessian", "filter_jacfwd", "filter_jacrev", "filter_hessian"):
            return Array()
        if name in ("value_and_grad", "filter_value_and_grad"):
            return Items("tuple", (found, Array()), None, self.tick())
        if name in ("eval_shape", "filter_eval_shape"):
            return Static()
        return _plain([found]) if callee.by.endswith("moved") and isinstance(found, Array) else found

    def _call_rule(self, env: Env, node: ast.expr, rule: Type, args: Types) -> None:
        """Walk a rule of a derivative with arrays for all that it is passed."""
        for option in options(rule):
            if isinstance(option, Function):
                given = option.node.args
                count = len(given.posonlyargs) + len(given.args)
                self.call_function(option, [Array()] * count, {}, (env, node))  # type: ignore[call-arg]
            else:
                self.note(env.module, node, "a rule of its derivative is not shown")

    def _higher(self, env: Env, node: ast.expr, name: str, handler: str, args: Types, keywords: Named) -> Type:
        named = dict(keywords)
        values = list(args)
        for key in ("f", "init", "xs", "body_fun", "init_val", "cond_fun", "tree", "operand"):
            if key in named and key != "operand":
                values.append(named.pop(key))
        for value in (*values[1:], *named.values()):
            if isinstance(without_none(value), Unknown):
                return self.note(env.module, node, why_of(node, value))
        if not values:
            return self.note(env.module, node, "its arguments are not shown")
        if handler == "scan":
            carry = values[1] if len(values) > 1 else Nothing()
            xs = values[2] if len(values) > 2 else Nothing()
            out = self.call(env, node, values[0], [carry, xs], {})
            inner = out.parts[1] if isinstance(out, Items) and out.parts is not None and len(out.parts) == 2 else Array()
            return Items("tuple", (carry, _plain([inner])), None, self.tick())
        if handler == "map":
            return _plain([self.call(env, node, values[0], values[1:2], {})])
        if handler == "associative":
            return self.call(env, node, values[0], [values[1], values[1]], {}) if len(values) > 1 else Array()
        if handler == "cond":
            operands = values[3:]
            return join(self.call(env, node, each, operands, {}) for each in values[1:3])
        if handler == "switch":
            branches = values[1] if len(values) > 1 else Nothing()
            inner = branches.parts if isinstance(branches, Items) and branches.parts else [_inner(branches)]
            return join(self.call(env, node, each, values[2:], {}) for each in inner)
        if handler == "while":
            self.call(env, node, values[0], [values[2]], {}) if len(values) > 2 else None
            return self.call(env, node, values[1], [values[2]], {}) if len(values) > 2 else Array()
        if handler == "fori":
            return self.call(env, node, values[2], [Array(), values[3]], {}) if len(values) > 3 else Array()
        if handler == "tree":
            leaves = [_leaf(each) for each in values[1:]]
            if any(isinstance(each, Unknown) for each in leaves):
                return self.note(env.module, node, "the leaves of the tree are not shown")
            found = self.call(env, node, values[0], leaves, {})
            return values[1] if len(values) > 1 and isinstance(values[1], Object | LibraryObject) else _plain([found])
        if handler == "reduce":
            rest = [_inner(each) for each in values[1:2]]
            start = values[2] if len(values) > 2 else rest[0] if rest else Nothing()
            return self.call(env, node, values[0], [start, *rest], {})
        if handler == "at":
            where = self.call(env, node, values[0], values[1:2], {}) if len(values) > 1 else None
            del where
            return values[1] if len(values) > 1 else Array()
        return self.note(env.module, node, f"`{name}` calls a function in a way that is not listed")

    # -- methods ---------------------------------------------------------------------------------------------------

    def _method(
        self, env: Env, node: ast.expr, callee: LibraryFunction, package: str, name: str, args: Types, keywords: Named
    ) -> Type:
        of = callee.of
        values = [*args, *keywords.values()]
        bad = next((each for each in values if not is_data(each) and not isinstance(each, Function | ClassOf)), None)
        if package == "items" and isinstance(of, Items):
            return self.container_method(env, node, of, name, args, keywords)
        if bad is not None and package != "equinox.nn.State":
            return self.note(env.module, node, why_of(node, bad))
        if package == "static":
            if name in _STRINGS | tables.PURE_METHODS:
                return Static()
            return self.note(env.module, node, f"`.{name}` of a Python value is not listed")
        if package == "array" and isinstance(of, Array):
            return self.call_array_method(env, node, of, name, args, keywords)
        if package == "jax.at" and isinstance(of, LibraryObject):
            if name not in _UPDATES or any(isinstance(each, Function) for each in values):
                return self.note(env.module, node, f"`.at[...].{name}` is not listed")
            return dict(of.arguments or ())["of"] if name != "get" else Array()
        if package == "equinox.nn.State" and name in tables.METHODS_OF_STATES:
            return Array() if name == "get" else LibraryObject("equinox.nn.State")
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
            return Array(of.shape, text, of.certain)
        if name == "reshape":
            shape = whole_shape(args)
            return Array(shape, of.cast)
        if name in ("transpose", "swapaxes"):
            return turned(of, f"{name}({texts(args)})")
        if name in ("copy", "round", "clip", "conj", "block_until_ready", "cumsum", "cumprod"):
            return of
        return Array(None, of.cast)

    def container_method(self, env: Env, node: ast.expr, of: Items, name: str, args: Types, keywords: Named) -> Type:
        holder = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
        element = of.element or Nothing()
        if name in ("items",) and of.kind == "dict":
            return Items("iterator", None, Items("tuple", (Static(), element), None, self.tick()), self.tick())
        if name == "values":
            return Items("iterator", of.parts, of.each, self.tick())
        if name == "keys":
            return Items("iterator", None, Static(), self.tick())
        if name == "get" and of.kind == "dict":
            known = args[0] if args else None
            if not all(map(is_static, args[:1])):
                return self.note(env.module, node, why_of(node, known or Nothing()))
            return join([element, *(args[1:] or [Nothing()])])
        if name == "copy":
            return Items(of.kind, of.parts, of.each, self.tick(), of.keys)
        if name in ("index", "count"):
            if is_static(of) and all(map(is_static, args)):
                return Static()
            return self.note(env.module, node, "a search compares its elements")
        if name in _GROWS | _SHRINKS and of.kind != "tuple":
            added = args[-1] if args and name in _GROWS else None
            if added is not None and name in ("extend", "update", "extendleft"):
                added = self.element(env.module, node, added)
            self.change(env, node, holder, of, added)  # type: ignore[attr-defined]
            return element if name in ("pop", "setdefault", "popitem", "popleft") else Nothing()
        return self.note(env.module, node, f"`.{name}` of a container is not listed")

    # -- objects of libraries --------------------------------------------------------------------------------------

    def construct_library(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type:
        """An object of a class of a library, with the arguments of its constructor."""
        if not qualname.startswith("equinox.nn."):
            return self.note(env.module, node, f"`{qualname}` is not listed")
        for value in (*args, *keywords.values()) if not self.muted else ():
            if isinstance(without_none(value), Unknown) or (
                isinstance(value, Object) and qualname.rpartition(".")[2] not in ("Sequential", "Lambda", "WeightNorm", "SpectralNorm", "Shared")
            ):
                return self.note(env.module, node, why_of(node, value))
        named: list[tuple[str | int, Type]] = [*enumerate(args), *sorted(keywords.items())]
        return LibraryObject(qualname, tuple(named))

    def call_library_object(
        self, env: Env, node: ast.expr, value: LibraryObject, args: Types, keywords: Named
    ) -> Type:
        """Call a module of a library: one that is listed computes, and calls the functions it was built with."""
        name = value.qualname.rpartition(".")[2]
        if value.qualname == LAYER:
            return Array()
        if value.qualname == "builtins.super" or not value.qualname.startswith("equinox.nn."):
            return self.note(env.module, node, f"calling a `{value.qualname}` is not listed")
        if value.arguments is None and self.classes.has_heirs(value.qualname):
            return self.note(env.module, node, f"a class of the project inherits from `{name}` and may be meant")
        if (noted := noted_in([*args, *keywords.values()])) is not None:
            return noted
        flat = (option for each in (*args, *keywords.values()) for option in options(each))
        bad = next((each for each in flat if not is_data(each) and not isinstance(each, LibraryObject)), None)
        if bad is not None:
            return self.note(env.module, node, why_of(node, bad))
        given = dict(value.arguments or ())
        if name == "Lambda" and (0 in given or "fn" in given):
            return self.call(env, node, given.get(0, given.get("fn", Nothing())), args[:1], {})
        if name == "Sequential" and (0 in given or "layers" in given):
            found: Type = args[0] if args else Array()
            layers = given.get(0, given.get("layers", Nothing()))
            inner = layers.parts if isinstance(layers, Items) and layers.parts is not None else [_inner(layers)]
            for each in inner:
                found = self.call(env, node, each, [found], {"key": Array()} if not isinstance(each, Function) else {})
            return found
        if name == "MLP":
            if value.arguments is None:
                return self.note(env.module, node, "the activation of the `MLP` is not shown")
            for key in ("activation", "final_activation", 4, 5):
                if key in given:
                    self.call(env, node, given[key], [Array()], {})
            return weakened(_kept(args))
        if name == "GRUCell":
            return args[1] if len(args) > 1 else Array()
        if name == "LSTMCell":
            return Items("tuple", (Array(), Array()), None, self.tick())
        if name in _STATEFUL:
            return Items("tuple", (_kept(args), LibraryObject("equinox.nn.State")), None, self.tick())
        if not name.startswith(tables.PLAIN_LAYERS):
            return self.note(env.module, node, f"calling an `{name}` is not listed")
        if name == "Linear":
            return weakened(_kept(args))
        return _kept(args) if name in KEEPS_SHAPE or self._same_padding(value, given) else Array()

    def _same_padding(self, value: LibraryObject, given: Mapping[str | int, Type]) -> bool:
        """True if a convolution has an input and an output of one shape."""
        if not value.qualname.rpartition(".")[2].startswith("Conv"):
            return False
        texts = {key: each.text for key, each in given.items() if isinstance(each, Static)}
        size = texts.get("kernel_size") or texts.get(2) or texts.get(3)
        stride = texts.get("stride", "1")
        padding = texts.get("padding", "0")
        same = padding in ("'SAME'", "'same'") or (size, padding) in (("1", "0"), ("3", "1"), ("5", "2"), ("7", "3"))
        return same and stride == "1"

    # -- Python's own functions ------------------------------------------------------------------------------------

    def _builtin(self, env: Env, node: ast.expr, name: str, args: Types, keywords: Named) -> Type:
        module = env.module
        if name.endswith(_EXCEPTIONS) or name == "NotImplemented":
            return Static()
        if name == "object":
            return Nothing()
        if name == "super" and not args:
            this = env.this or Nothing()
            return LibraryObject("builtins.super", (("this", this),))
        if name in ("print", "input", "open", "exec", "eval", "compile", "breakpoint", "__import__", "globals", "locals", "setattr", "delattr", "next"):
            return self.effect(module, node, f"`{name}` has a side effect")
        unknown = next((each for each in args if isinstance(without_none(each), Unknown)), None)
        if unknown is not None:
            return self.note(module, node, why_of(node, unknown))
        if name in ("isinstance", "issubclass"):
            return self._asked(env, node, args)
        if name == "type" and len(args) == 1 and isinstance(args[0], Object):
            return ClassOf(args[0].cls)
        if name in ("len", "callable", "id"):
            if name == "id" :
                return self.note(module, node, "a rewrite makes other objects of the same values")
            if name == "len" and any(isinstance(each, Object) and self.classes.method(each.cls, "__len__") for each in args):
                return self.note(module, node, "a class of the project defines its length")
            return Static()
        if name in ("getattr", "hasattr"):
            return self._by_name(env, node, name, args)
        if name == "range":
            return Items("tuple", None, Static(), self.tick()) if all(map(is_static, args)) else self._needs_value(env, node, args)
        if name in ("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"):
            if name in ("set", "frozenset", "sorted") and not all(map(is_static, args)):
                return self._needs_value(env, node, args)
            kind = {"list": "list", "sorted": "list", "tuple": "tuple"}.get(name, "iterator" if name in ("reversed", "iter") else "set")
            source = args[0] if args else Items(kind, ())
            parts = source.parts if isinstance(source, Items) and source.kind != "dict" else None
            if parts is not None:
                return Items(kind, parts[::-1] if name == "reversed" else parts, None, self.tick())
            return Items(kind, None, self.element(module, node, source), self.tick())
        if name in ("zip", "enumerate", "map", "filter"):
            return self._iterator(env, node, name, args)
        if name == "dict":
            if args and not isinstance(args[0], Items):
                return self.note(module, node, why_of(node, args[0]))
            return Items("dict", tuple(keywords.values()), None, self.tick(), tuple(keywords)) if not args else args[0]
        if name in ("sum", "max", "min", "abs", "pow", "divmod", "round", "all", "any"):
            inner = [each.element or Static() if isinstance(each, Items) else each for each in args]
            if all(map(is_static, inner)):
                return Static()
            if any(not is_data(each) or isinstance(each, Given) for each in inner):
                return self._needs_value(env, node, args)
            if name in ("max", "min", "all", "any"):
                return self.note(module, node, "it needs the values of arrays")
            return Array()
        if name in _CONVERSIONS or name == "slice":
            if all(map(is_static, args)) or (self.raising and all(map(is_data, args))):
                return Static()
            self._needs_value(env, node, args)
            return Static()
        if name in ("property", "staticmethod", "classmethod") and args:
            return args[0]
        return self.note(module, node, f"`{name}` is not on the list of functions that only compute")

    def _needs_value(self, env: Env, node: ast.expr, args: Types) -> Unknown:
        bad = next((each for each in args if not is_static(each)), Nothing())
        return self.note(env.module, node, why_of(node, bad))

    def _asked(self, env: Env, node: ast.expr, args: Types) -> Type:
        if len(args) != 2:
            return Static()
        kinds = args[1].parts if isinstance(args[1], Items) and args[1].parts is not None else (args[1],)
        for each in kinds:
            if not isinstance(each, ClassOf | LibraryFunction | Nothing | Static):
                return self.note(env.module, node, why_of(node, each))
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
            return Items("iterator", None, found if name == "map" else inner[0] if inner else Nothing(), self.tick())
        numbered = name == "enumerate"
        used = args[:1] if numbered else args
        if all(isinstance(each, Items) and each.parts is not None and each.kind != "dict" for each in used):
            rows = list(zip(*(each.parts for each in used if isinstance(each, Items) and each.parts is not None), strict=False))
            made = [Items("tuple", (*((Static(),) if numbered else ()), *row), None, self.tick()) for row in rows]
            return Items("iterator", tuple(made), None, self.tick())
        inner = [self.element(env.module, node, each) for each in used]
        row = Items("tuple", (*((Static(),) if numbered else ()), *inner), None, self.tick())
        return Items("iterator", None, row, self.tick())


LAYER = "a layer of a class that is not shown"
"""The name of the class of layers of which nothing is known: applying one is an obligation of its own."""

_HIGHER = {
    "scan": "scan", "map": "map", "associative_scan": "associative", "cond": "cond", "switch": "switch",
    "while_loop": "while", "fori_loop": "fori", "tree_map": "tree", "reduce": "reduce", "tree_at": "at",
}  # fmt: skip


def _is_first_axis(value: Type) -> bool:
    """True if a mapping is over the first axis: 0, None, or a tuple of those."""
    if isinstance(value, Items) and value.parts is not None:
        return all(map(_is_first_axis, value.parts))
    return isinstance(value, Nothing) or (isinstance(value, Static) and value.text == "0")


def _inner(value: Type) -> Type:
    """The type of an element of data."""
    if isinstance(value, Items):
        return value.element or Nothing()
    return Array() if isinstance(value, Array) else Static() if isinstance(value, Static) else Unknown("its elements are not shown")


def _plain(values: Types) -> Type:
    """An array or arrays without what is known of shapes."""
    if len(values) == 1 and isinstance(values[0], Items):
        return Items(values[0].kind, None, Array(), values[0].fresh) if values[0].parts is None else Items(
            values[0].kind, tuple(_plain([each]) for each in values[0].parts), None, values[0].fresh
        )
    return Array()


def _kept(args: Types) -> Type:
    first = args[0] if args else Array()
    return first if isinstance(first, Array) else Array()


def _leaf(value: Type) -> Type:
    """The type of a leaf of a tree."""
    match value:
        case Object() | LibraryObject() | Function():
            return Array()
        case Items():
            return _leaf(value.element) if value.element is not None else Nothing()
        case Given():
            return Unknown(f"`{value.name}` has no type")
        case _:
            return value

