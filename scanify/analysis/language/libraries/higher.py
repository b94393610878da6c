"""Functions of libraries that call the functions they are passed."""

import ast
from itertools import zip_longest

from scanify.analysis.language.base import Base
from scanify.analysis.language.parts import plain_arrays, with_arrays
from scanify.analysis.language.shapes import of_rows, row
from scanify.analysis.language.syntax.operators import why_of
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
    is_data,
    keywords_of,
    options,
)

_MAPS = frozenset("vmap filter_vmap pmap filter_pmap vectorize".split())
_DERIVATIVES = frozenset("grad filter_grad jacfwd jacrev hessian filter_jacfwd filter_jacrev filter_hessian".split())
HIGHER = frozenset("scan map associative_scan cond switch while_loop fori_loop tree_map reduce tree_at".split())


class HigherOrder(Base):
    """The part of the walker that calls what `scan`, `vmap`, `partial` and their like are passed."""

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
        return plain_arrays([found]) if moved else found

    def call_higher(self, env: Env, node: ast.expr, name: str, args: Types, keywords: Named) -> Type:
        """Call each function that is passed with arrays; the result is a tree of arrays."""
        values = [option for value in (*args, *keywords.values()) for option in options(value)]
        for value in values:
            if isinstance(value, Function):
                given = value.node.args
                count = len(given.posonlyargs) + len(given.args) - (value.bound is not None)
                self.call(env, node, value, [Array()] * count, {})
            elif isinstance(value, LibraryFunction | Applied):
                self.call(env, node, value, [Array()], {})
            elif not is_data(value) and not isinstance(value, ClassOf) and "tree" not in name:
                return self.note(env.module, node, why_of(node, value))
        held = [value for value in values if isinstance(value, Object | LibraryObject)]
        return held[0] if held else Array()


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
