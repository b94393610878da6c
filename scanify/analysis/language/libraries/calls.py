"""Calls of libraries: what is listed only computes, or calls the functions it is passed.

A name that is not listed is not understood. The lists are of functions, never of whole packages (`exports.txt`).
"""

import ast
from itertools import zip_longest

from scanify.analysis.language import tables
from scanify.analysis.language.base import Base, code_of
from scanify.analysis.language.libraries.python import ACTING
from scanify.analysis.language.parts import element_of, with_arrays
from scanify.analysis.language.shapes import (
    SAME_SHAPE,
    cast_of,
    joined,
    of_rows,
    row,
)
from scanify.analysis.language.syntax.operators import noted_in, why_of
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
    Named,
    Nothing,
    Object,
    Static,
    Type,
    Types,
    Unknown,
    is_data,
    is_static,
    keywords_of,
    options,
    parts_of,
)

_SAID = {
    "jax.debug.print": "prints for each layer, in the backward pass too if layers are recomputed there",
    "warnings.warn": "warns once, while the layers are traced",
}

_CALLING = frozenset("apply_along_axis piecewise fromfunction".split())

_LISTS = frozenset("meshgrid split array_split unstack broadcast_arrays hsplit vsplit tree_leaves leaves".split())

_OF_PROCESS = frozenset("default_backend devices device_count key_impl named_scope".split())

_HOST = ("numpy", "math", "cmath", "scipy")

_ARRAYS = ("jax", "equinox", "einops")

_SIZED = frozenset("zeros ones empty full eye iota tri".split())

_PYTHON_VALUES = frozenset("dtype finfo iinfo issubdtype shape ndim size isscalar result_type promote_types".split())

_STATIC_PACKAGES = frozenset("math cmath operator itertools re copy dataclasses typing collections functools".split())

_ONE = frozenset(
    "abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh cbrt ceil conj "
    "conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs floor frexp invert bitwise_not isfinite isinf isnan "
    "isnat log log10 log1p log2 logical_not modf negative positive rad2deg radians reciprocal rint sign signbit sin "
    "sinh spacing sqrt square tan tanh trunc".split()
)

_ARITIES = dict.fromkeys(("where", "clip", "quantile", "percentile", "broadcast_to", "moveaxis", "swapaxes"), 3) | (
    dict.fromkeys(("isclose", "allclose", "full", "full_like", "arange", "eye", "tri", "array", "interp"), 4)
    | dict.fromkeys(("linspace", "logspace", "geomspace", "einsum", "broadcast_shapes"), 1 << 16)
)


def _arity(root: str, name: str) -> int:
    """The number of arguments by position of a function of numpy of which none is the array for its result."""
    if root != "numpy":
        return 1 << 16
    return _ARITIES.get(name, 1 if name in _ONE else 2)


_MAPS = frozenset("vmap filter_vmap pmap filter_pmap vectorize".split())

_DERIVATIVES = frozenset("grad filter_grad jacfwd jacrev hessian filter_jacfwd filter_jacrev filter_hessian".split())

HIGHER = frozenset("scan map associative_scan cond switch while_loop fori_loop tree_map reduce tree_at".split())


class Libraries(Base):
    """The part of the walker that calls functions of libraries."""

    def call_library(self, env: Env, node: ast.expr, callee: LibraryFunction, args: Types, keywords: Named) -> Type:
        """The type that a listed function returns."""
        qualname = callee.qualname
        package, _, name = qualname.rpartition(".")
        noted = noted_in([*args, *keywords.values()])
        if package == "builtins" and name in ACTING and callee.of is None:
            # An iterator that was made before the iteration is an effect where it is named.
            drawn = any(isinstance(each, Items) and each.kind == "iterator" for each in args[:1]) or noted is not None
            if name != "next" or not drawn:
                return self.effect(env.module, node, f"`{name}` has a side effect")
        if noted is not None:
            return noted
        if callee.of is not None:
            return self.call_method(env, node, callee, package, name, args, keywords)
        if package == "builtins":
            return self.call_builtin(env, node, name, args, keywords)
        if self.index.patches.in_module(package.rpartition(".")[2], name):
            return self.note(env.module, node, f"code of the project puts another function at `{qualname}`")
        if qualname in tables.CALLERS:
            return self.transformed(env, node, qualname, args, keywords)
        if name in HIGHER and (tables.is_listed(qualname) or qualname == "equinox.tree_at"):
            return self.call_higher(env, node, name, args, keywords)
        if qualname in tables.MANAGERS or qualname in tables.IDENTITIES:
            return args[0] if args else Static()
        if qualname in tables.MODULE_MAKERS and not keywords.keys() & {"dot_general", "reparam_cls"}:
            return self._not_data(env, node, package, name, [*args, *keywords.values()]) or LibraryObject(package)
        if tables.is_listed(qualname):
            return self._computed(env, node, qualname, args, keywords)
        if qualname in _SAID:
            self.notes.setdefault(f"`{qualname}` {_SAID[qualname]}" if not self.muted else "", None)
            return Nothing()
        if qualname.startswith(tables.IMPURE) and not self.muted:
            return self.effect(env.module, node, f"`{code_of(env.module, node)}` has a side effect")
        text = f"`{qualname}` is not on the list of functions that only compute; give a case"
        return self.note(env.module, node, text)

    def _computed(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type:
        """The result of a function that only computes, given data."""
        package, _, name = qualname.rpartition(".")
        root = package.partition(".")[0]
        values = [*args, *keywords.values()]
        if not isinstance(keywords.get("out", Nothing()), Nothing) or len(args) > _arity(root, name):
            return self.effect(env.module, node, f"`{code_of(env.module, node)}` writes into an array")
        refused = self._not_data(env, node, package, name, values)
        if refused is not None:
            return refused
        if root in _HOST and self.muted:
            return self._of_python(name, root, [])
        if root in _HOST and not all(map(is_static, values)):
            return self.note(env.module, node, f"`{qualname}` needs the value of an array")
        if root in _HOST or root in _STATIC_PACKAGES or name in tables.MEASURING:
            return self._of_python(name, root, args)
        if name in _LISTS and not (name == "split" and package.endswith("random")):
            return Items("list", None, Array())
        if name in _OF_PROCESS and all(map(is_static, values)):
            return Static()
        sizes = args if name in ("arange", "linspace") else args[:1] if name in _SIZED else ()
        if any(isinstance(each, Array) for size in sizes for each in parts_of(size)):
            return self.note(env.module, node, "the shape of its result depends on values")
        if name in tables.SHAPED_BY_VALUES and "size" not in keywords:
            return self.note(env.module, node, "the shape of its result depends on values")
        arrays = [option for value in values for option in options(value) if isinstance(option, Array)]
        cast = cast_of(name, args, keywords, arrays[name == "where" :])
        shapes = {each.shape for each in arrays} - {None}
        if (found := joined(name, args)) is not None:
            return found
        if name in SAME_SHAPE and len(shapes) == 1:
            return Array(shapes.pop(), cast)
        return Array(None, cast)

    def _not_data(self, env: Env, node: ast.expr, package: str, name: str, values: Types) -> Unknown | None:
        """Why a function that computes is passed something else than data; None if it is not."""
        takes_functions = name in tables.TAKERS_OF_FUNCTIONS or name in _CALLING
        first = node.args[0] if isinstance(node, ast.Call) and node.args else node
        for value in values:
            for option in options(value):
                if takes_functions and not isinstance(option, Array | Static | Nothing | Items):
                    return self.note(env.module, node, "it calls the function that it is passed, which is not followed")
                if not is_data(option) and not self._is_tree(option, package):
                    return self.note(env.module, node, why_of(first, option))
        return None

    def _of_python(self, name: str, root: str, args: Types) -> Type:
        if root == "collections" and name != "namedtuple":
            return Unknown(f"a `collections.{name}` keeps what code puts into it")
        if root == "itertools":
            parts = list(args)
            return Items(
                "iterator",
                None,
                Items("tuple", tuple(element_of(each) for each in parts), None, self.own),
                self.own,
            )
        if root == "copy" and args:
            return args[0]
        made = root == "numpy" and name not in _PYTHON_VALUES
        return Static(None, made) if all(map(is_static, args)) else Array()

    def _is_tree(self, value: Type, package: str) -> bool:
        """True if a function on trees is passed a module, into which jax looks."""
        trees = package in ("jax.tree", "jax.tree_util", "equinox", "equinox.nn", "jax")
        return trees and isinstance(value, Object | LibraryObject | Function | Applied | ClassOf)

    def transformed(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type:
        """The function that a transformation of one function returns."""
        if not args:
            partial = Applied("functools.partial", LibraryFunction(qualname), (), keywords_of(keywords))
            return partial if keywords else LibraryFunction(qualname)
        if isinstance(args[0], Array | Static | Nothing | Given):
            return self.note(env.module, node, why_of(node.args[0] if isinstance(node, ast.Call) else node, args[0]))
        if qualname == "functools.partial":
            return Applied(qualname, args[0], tuple(args[1:]), keywords_of(keywords))
        name = qualname.rpartition(".")[2]
        if name.endswith("eval_shape"):
            self.call(env, node, args[0], list(args[1:]), {})
            return Static()
        if not all(map(is_data, (*args[1:], *keywords.values()))):
            return self.note(env.module, node, "an argument of the transformation is not understood")
        if name in _MAPS:
            keywords = {**dict(zip(("in_axes", "out_axes"), args[1:], strict=False)), **keywords}
        axes = {each: keywords[each] for each in ("in_axes", "out_axes", "in_specs") if each in keywords}
        moved = not all(map(_is_first_axis, axes.values()))
        mapped = {"in_axes": axes["in_axes"]} if "in_axes" in axes else {}
        return Applied(f"{qualname} moved" if moved else qualname, args[0], (), keywords_of(mapped))

    def call_applied(self, env: Env, node: ast.expr, callee: Applied, args: Types, keywords: Named) -> Type:
        """Call what a transformation returned: it calls the function."""
        if callee.by == "functools.partial":
            named = {**dict(callee.keywords), **keywords}
            return self.call(env, node, callee.function, [*callee.arguments, *args], named)
        name, _, moved = callee.by.rpartition(".")[2].partition(" ")
        if name in _MAPS:
            rows = _rows(dict(callee.keywords).get("in_axes"), args)
            named = {each: with_arrays(value, row) for each, value in keywords.items()}
            return with_arrays(self.call(env, node, callee.function, rows, named), lambda each: of_rows(each, moved))
        found = self.call(env, node, callee.function, list(args), keywords)
        if name in _DERIVATIVES:
            return Array()
        if name in ("value_and_grad", "filter_value_and_grad"):
            return Items("tuple", (found, Array()), None, self.own)
        return with_arrays(found) if moved else found

    def call_higher(self, env: Env, node: ast.expr, name: str, args: Types, keywords: Named) -> Type:
        """Call each function that is passed with arrays; the result is a tree of arrays."""
        values = [option for value in (*args, *keywords.values()) for option in options(value)]
        first = list(options(args[0])) if args else []
        for value in values:
            if isinstance(value, Function):
                given = value.node.args
                count = len(given.posonlyargs) + len(given.args) - (value.bound is not None)
                self.call(env, node, value, [Array()] * count, {})
            elif isinstance(value, LibraryFunction | Applied | ClassOf) or (value in first and not is_data(value)):
                self.call(env, node, value, [Array()], {})
            elif not is_data(value) and "tree" not in name:
                return self.note(env.module, node, why_of(node, value))
        trees = [value for value in values if isinstance(value, Object | LibraryObject) and value not in first]
        return trees[0] if trees else Array()


def _rows(axes: Type | None, args: Types) -> list[Type]:
    """What a function sees of each argument that it is mapped over."""
    parts = axes.parts if isinstance(axes, Items) and axes.parts is not None else (axes,) * len(args)
    pairs = zip_longest(args, parts[: len(args)])
    return [arg if isinstance(axis, Nothing) else with_arrays(arg, row) for arg, axis in pairs]


def _is_first_axis(value: Type) -> bool:
    """True if a mapping is over the first axis: 0, None, or a tuple of those."""
    if isinstance(value, Items) and value.parts is not None:
        return all(map(_is_first_axis, value.parts))
    return isinstance(value, Nothing) or (isinstance(value, Static) and value.text == "0")
