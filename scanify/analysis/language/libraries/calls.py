"""Calls of libraries: listed functions only compute, or call the functions passed to them.

Other names are not understood. The lists contain functions, never whole packages (`exports.txt`).
"""

import ast
from dataclasses import replace

from scanify.analysis.classes.classes import library_module
from scanify.analysis.language import tables
from scanify.analysis.language import types as t
from scanify.analysis.language.base import code_of
from scanify.analysis.language.libraries.python import Python
from scanify.analysis.language.shapes import KEEPS_SHAPE, LAST_AXIS, SAME_SHAPE, cast_of, weakened, with_arrays
from scanify.analysis.language.syntax.operators import noted_in, why_of

LAYER = "a layer of a class that is not shown"
_SAID = {
    "jax.debug.print": "prints for each layer, in the backward pass too if layers are recomputed there",
    "warnings.warn": "warns once, while the layers are traced",
}
_CALLING = frozenset("apply_along_axis piecewise fromfunction".split())
_LISTS = frozenset("meshgrid split array_split unstack broadcast_arrays hsplit vsplit tree_leaves leaves".split())
_OF_ARRAYS = frozenset("numpy math cmath scipy".split())
_HOST = _OF_ARRAYS | frozenset("operator itertools re copy dataclasses typing collections functools".split())
_SIZES = {"arange": (0, 9), "linspace": (0, 9), "reshape": (1, 9)} | dict.fromkeys(
    "zeros ones empty full eye iota tri".split(), (0, 1)
)
"""The slice of a function's arguments that are sizes of its result."""
_PYTHON_VALUES = frozenset(
    "prod dtype finfo iinfo issubdtype shape ndim size isscalar result_type promote_types".split()
)
_BY_VALUES = "the shape of its result depends on values"
_MAPS = frozenset("vmap filter_vmap".split())
_SAME = frozenset("jit filter_jit checkpoint filter_checkpoint remat named_call".split())
_ROW = " row"  # suffix for the shape of a row passed to a mapped function
HIGHER = frozenset("scan map associative_scan cond switch while_loop fori_loop tree_map reduce".split())


class Libraries(Python):
    """The part of the walker that calls functions and modules of libraries."""

    def call_library(
        self, env: t.Env, node: ast.expr, callee: t.LibraryFunction, args: t.Types, keywords: t.Named
    ) -> t.Type:
        """Call a function or method of a library."""
        qualname = callee.qualname
        package, _, name = qualname.rpartition(".")
        drawn = qualname == "builtins.next" and any(isinstance(each, t.Items) and each.own for each in args[:1])
        if callee.of is None and qualname.startswith(tables.IMPURE) and not drawn:
            return self.effect(env.module, node, f"`{code_of(env.module, node)}` has a side effect")
        if library_module(qualname):
            return self._construct_library(env, node, qualname, args, keywords)
        if (noted := noted_in([*args, *keywords.values()])) is not None:
            return noted
        if isinstance(callee.of, t.Array) and name in tables.ARRAY_METHODS:
            return self.computed(env, node, f"jax.numpy.{name}", [callee.of, *args], keywords)
        if callee.of is not None:
            return self.call_method(env, node, callee.of, name, args, keywords)
        if package == "builtins":
            return self.call_builtin(env, node, name, args, keywords)
        if self.index.patches.in_module(package.rpartition(".")[2], name):
            return self.note(env.module, node, f"code of the project puts another function at `{qualname}`")
        if qualname in tables.CALLERS:
            return self._transformed(env, node, name, args, keywords)
        if name in HIGHER and tables.is_listed(qualname):
            return self._call_higher(env, node, args, keywords)
        if qualname in tables.IDENTITIES:
            return args[0] if args else t.Static()
        if tables.is_listed(qualname):
            return self.computed(env, node, qualname, args, keywords)
        if qualname in _SAID:
            self.notes.setdefault(f"`{qualname}` {_SAID[qualname]}" if not self.muted else "", None)
            return t.Nothing()
        text = f"`{qualname}` is not on the list of functions that only compute; give a case"
        return self.note(env.module, node, text)

    def computed(self, env: t.Env, node: ast.expr, qualname: str, args: t.Types, keywords: t.Named) -> t.Type:
        """Call a function that only computes, whose arguments must be data."""
        package, _, name = qualname.rpartition(".")
        root = package.partition(".")[0]
        values = [*args, *keywords.values()]
        out = [keywords.get("out", t.Nothing()), *(args[1:] if root == "numpy" else ())]
        if any(map(_may_be_written, out)) and not self.muted:
            return self.note(env.module, node, "it may write its result into an argument")
        refused = self._not_data(env, node, package, name, values)
        if refused is not None:
            return refused
        if root == "haliax" and name == "init":
            return t.LibraryObject(package)  # `haliax.nn.Linear.init(axes, key=key)`
        if root in _HOST or name in tables.MEASURING:
            return self._of_python(env, node, qualname, args, keywords)
        if name in _LISTS and not (name == "split" and package.endswith("random")):
            return t.Items("list", None, t.Array())
        first, last = _SIZES.get(name, (0, 0))
        by_values = any(isinstance(each, t.Array) for size in args[first:last] for each in t.parts_of(size))
        if by_values or (name in tables.SHAPED_BY_VALUES and "size" not in keywords):
            return self.note(env.module, node, _BY_VALUES)
        arrays = [option for value in values for option in t.options(value) if isinstance(option, t.Array)]
        shapes = {each.shape for each in arrays} - {None}
        shape = shapes.pop() if name in SAME_SHAPE and len(shapes) == 1 else None
        return t.Array(shape, cast_of(name, args, keywords, arrays[name == "where" :]))

    def _not_data(self, env: t.Env, node: ast.expr, package: str, name: str, values: t.Types) -> t.Unknown | None:
        """Record that an argument of a computing function is not data; None if all are."""
        trees = package in ("jax.tree", "jax.tree_util", "equinox", "equinox.nn", "jax")
        takes_functions = name in tables.TAKERS_OF_FUNCTIONS or name in _CALLING
        first = node.args[0] if isinstance(node, ast.Call) and node.args else node
        for option in (option for value in values for option in t.options(value)):
            if takes_functions and not isinstance(option, t.Array | t.Static | t.Nothing | t.Items):
                return self.note(env.module, node, "it calls the function that it is passed, which is not followed")
            is_tree = trees and isinstance(option, t.Object | t.LibraryObject | t.Function | t.Mapped | t.ClassOf)
            if not t.is_data(option) and not is_tree:
                return self.note(env.module, node, why_of(first, option))
        return None

    def _of_python(self, env: t.Env, node: ast.expr, qualname: str, args: t.Types, keywords: t.Named) -> t.Type:
        """Call a function that computes in Python: with any data before the loop, but only with numbers in it."""
        root, name = qualname.partition(".")[0], qualname.rpartition(".")[2]
        if root in ("collections", "itertools"):
            return t.Unknown(f"what `{qualname}` makes keeps what code puts into it")
        numbers = name in tables.MEASURING or all(map(t.is_static, (*args, *keywords.values())))
        if not numbers and (not self.muted or root not in _OF_ARRAYS):
            return self.note(env.module, node, f"`{qualname}` needs the value of an array")
        if root == "numpy" and name not in _PYTHON_VALUES:
            return t.Array()
        return args[0] if root == "copy" and args else t.Static()

    # -- functions that call functions --------------------------------------------------------------------------------

    def _transformed(self, env: t.Env, node: ast.expr, name: str, args: t.Types, keywords: t.Named) -> t.Type:
        """Return the function that a transformation of a function returns."""
        if name not in _MAPS | _SAME:
            return self.note(env.module, node, f"what `{name}` returns is not followed")
        if not args or isinstance(args[0], t.Array | t.Static | t.Nothing | t.Given):
            return self.note(env.module, node, "nothing shows the function that it is passed")
        if not all(map(t.is_data, (*args[1:], *keywords.values()))):
            return self.note(env.module, node, "an argument of the transformation is not understood")
        if name in _SAME:
            return args[0]
        return t.Mapped(args[0], len(args) > 1 or not keywords.keys().isdisjoint(("in_axes", "out_axes")))

    def call_mapped(self, env: t.Env, node: ast.expr, callee: t.Mapped, args: t.Types, keywords: t.Named) -> t.Type:
        """Call a function for all rows of arrays; a result shaped like the row of an argument is shaped like it."""
        rows = [with_arrays(value, _row) for value in args]
        named = {name: with_arrays(value, _row) for name, value in keywords.items()}
        found = self.call(env, node, callee.function, rows, named)
        return with_arrays(found, lambda each: replace(each, shape=None) if callee.otherwise else _of_rows(each))

    def _call_higher(self, env: t.Env, node: ast.expr, args: t.Types, keywords: t.Named) -> t.Type:
        """Call each function among the arguments with arrays; the result is a tree of arrays."""
        for value in (option for each in (*args, *keywords.values()) for option in t.options(each)):
            if isinstance(value, t.Function):
                given = value.node.args
                count = len(given.posonlyargs) + len(given.args) - (value.bound is not None)
                self.call(env, node, value, [t.Array()] * count, {})
            elif isinstance(value, t.LibraryFunction | t.Mapped | t.ClassOf):
                self.call(env, node, value, [t.Array()], {})
            elif not t.is_data(value):
                return self.note(env.module, node, why_of(node, value))
        return t.Array()

    # -- modules of `equinox.nn`, of which listed ones only compute ---------------------------------------------------

    def _construct_library(self, env: t.Env, node: ast.expr, qualname: str, args: t.Types, keywords: t.Named) -> t.Type:
        if not qualname.startswith("equinox.nn."):
            return self.note(env.module, node, f"`{qualname}` is not listed")
        for value in (*args, *keywords.values()) if not self.muted else ():
            if isinstance(t.without_none(value), t.Unknown | t.Object):
                return self.note(env.module, node, why_of(node, value))
        return t.LibraryObject(qualname, (*enumerate(args), *sorted(keywords.items())))

    def call_library_object(
        self, env: t.Env, node: ast.expr, value: t.LibraryObject, args: t.Types, keywords: t.Named
    ) -> t.Type:
        """Call a module of a library; a listed one only computes, and calls the functions it was built with."""
        name = value.qualname.rpartition(".")[2]
        if value.qualname == LAYER:
            return t.Array()
        if not value.qualname.startswith("equinox.nn.") or not name.startswith((*tables.PLAIN_LAYERS, "MLP")):
            return self.note(env.module, node, f"calling a `{value.qualname}` is not listed")
        if self.classes.is_patched("__call__") or self.index.patches.in_module("nn", name):
            return self.note(env.module, node, f"code of the project stores another `{name}`, or another `__call__`")
        if value.arguments is None and self.classes.has_heirs(value.qualname):
            return self.note(env.module, node, f"a class of the project inherits from `{name}` and may be meant")
        if (noted := noted_in([*args, *keywords.values()])) is not None:
            return noted
        for each in (*args, *keywords.values()):
            if not t.is_data(each):
                return self.note(env.module, node, why_of(node, each))
        if name == "MLP" and value.arguments is None:
            return self.note(env.module, node, "the activation of the `MLP` is not shown")
        for key, activation in (value.arguments or ()) if name == "MLP" else ():
            if key in ("activation", "final_activation", 4, 5):
                self.call(env, node, activation, [t.Array()], {})
        first = args[0] if args and isinstance(args[0], t.Array) else t.Array()
        return weakened(first) if name in ("Linear", "MLP") else first if name in KEEPS_SHAPE else t.Array()


def _row(array: t.Array) -> t.Array:
    return replace(array, shape=f"{array.shape}{_ROW}") if array.shape is not None else array


def _of_rows(array: t.Array) -> t.Array:
    shape, row, change = (array.shape or "").rpartition(_ROW)
    return replace(array, shape=shape + change if row and change in ("", LAST_AXIS) else None)


def _may_be_written(value: t.Type) -> bool:
    """True if a caller passes the value, which may be a numpy array."""
    return any(isinstance(each, t.Static) and (each.text or "").startswith(t.GIVEN) for each in t.options(value))
