"""Functions of libraries that call the functions they are passed."""

import ast
from itertools import zip_longest

from scanify.analysis.language import tables
from scanify.analysis.language.base import Base
from scanify.analysis.language.parts import element_of, leaf_of, plain_arrays, with_arrays
from scanify.analysis.language.shapes import of_rows, row
from scanify.analysis.language.syntax.operators import why_of
from scanify.analysis.language.types import (
    Applied,
    Array,
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
    join,
    keywords_of,
    options,
    without_none,
)

WITH_RULES = frozenset("jax.custom_vjp jax.custom_jvp equinox.filter_custom_vjp equinox.filter_custom_jvp".split())
# A rule of `custom_vmap` asks which arguments are batched: in a scan all layers are asked at once.
_UNLISTED = WITH_RULES | {
    "functools.lru_cache",
    "functools.cache",
    "functools.wraps",
    "jax.custom_batching.custom_vmap",
}
TRANSFORMS = tables.CALLERS - _UNLISTED | {
    "jax.named_call", "jax.shard_map", "jax.experimental.shard_map.shard_map", "jax.numpy.vectorize", "jax.jvp"
}  # fmt: skip
_MAPS = frozenset("vmap filter_vmap pmap filter_pmap vectorize".split())
HIGHER = {
    "scan": "scan", "map": "map", "associative_scan": "associative", "cond": "cond", "switch": "switch",
    "while_loop": "while", "fori_loop": "fori", "tree_map": "tree", "reduce": "reduce", "tree_at": "at",
}  # fmt: skip


class HigherOrder(Base):
    """The part of the walker that calls what `scan`, `vmap`, `partial` and their like are passed."""

    def transformed(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type:
        if not args:
            rest = keywords_of(keywords)
            return (
                Applied("functools.partial", LibraryFunction(qualname), (), rest)
                if keywords
                else LibraryFunction(qualname)
            )
        if isinstance(args[0], Array | Static | Nothing | Given):
            return self.note(env.module, node, why_of(node.args[0] if isinstance(node, ast.Call) else node, args[0]))
        name = qualname.rpartition(".")[2]
        for value in (*args[1:], *keywords.values()):
            if qualname != "functools.partial" and not qualname.endswith("eval_shape") and not is_data(value):
                return self.note(env.module, node, "an argument of the transformation is not understood")
        if qualname == "functools.partial":
            return Applied(qualname, args[0], tuple(args[1:]), keywords_of(keywords))
        if qualname in ("jax.jvp", "jax.linearize"):
            self.call(env, node, args[0], [Array()], {})
            return Items("tuple", (Array(), LibraryFunction("jax.lax.stop_gradient")), None, self.own)
        if qualname.endswith("eval_shape"):
            self.call(env, node, args[0], list(args[1:]), {})
            return Static()
        if name in _MAPS:
            keywords = {**dict(zip(("in_axes", "out_axes"), args[1:], strict=False)), **keywords}
        moved = any(
            not _is_first_axis(keywords[each]) for each in ("in_axes", "out_axes", "in_specs") if each in keywords
        )
        axes = {"in_axes": keywords["in_axes"]} if "in_axes" in keywords else {}
        return Applied(f"{qualname} moved" if moved else qualname, args[0], (), keywords_of(axes))

    def call_applied(self, env: Env, node: ast.expr, callee: Applied, args: Types, keywords: Named) -> Type:
        """Call what a transformation returned: it calls the function."""
        if callee.by == "rules":
            for rule in callee.arguments:
                self._call_rule(env, node, rule, args)
            return self.call(env, node, callee.function, args, keywords)
        if callee.by == "functools.partial":
            return self.call(
                env, node, callee.function, [*callee.arguments, *args], {**dict(callee.keywords), **keywords}
            )
        name = callee.by.partition(" ")[0].rpartition(".")[2]
        if name in _MAPS:
            rows = _rows(dict(callee.keywords).get("in_axes"), args)
            named = {each: with_arrays(value, row) for each, value in keywords.items()}
            found = self.call(env, node, callee.function, rows, named)
            first = None if callee.by.endswith("moved") else name != "vectorize"
            return with_arrays(found, lambda each: of_rows(each, first))
        found = self.call(env, node, callee.function, list(args), keywords)
        if name in (
            "grad",
            "filter_grad",
            "jacfwd",
            "jacrev",
            "hessian",
            "filter_jacfwd",
            "filter_jacrev",
            "filter_hessian",
        ):
            return Array()
        if name in ("value_and_grad", "filter_value_and_grad"):
            return Items("tuple", (found, Array()), None, self.own)
        moved = callee.by.endswith("moved") and isinstance(found, Array)
        return plain_arrays([found]) if moved else found

    def _call_rule(self, env: Env, node: ast.expr, rule: Type, args: Types) -> None:
        """Walk a rule of a derivative with arrays for all that it is passed."""
        for option in options(rule):
            if isinstance(option, Function):
                given = option.node.args
                count = len(given.posonlyargs) + len(given.args)
                self.call_function(option, [Array()] * count, {}, (env, node))
            else:
                self.note(env.module, node, why_of(node, option, "a rule of its derivative is not shown"))

    def call_higher(self, env: Env, node: ast.expr, name: str, handler: str, args: Types, keywords: Named) -> Type:
        named = dict(keywords)
        values = list(args)
        for key in ("f", "init", "xs", "body_fun", "init_val", "cond_fun", "tree", "operand"):
            values += [named.pop(key)] if key in named and key != "operand" else []
        for value in (*values[1:], *named.values()):
            if isinstance(without_none(value), Unknown):
                return self.note(env.module, node, why_of(node, value))
        if not values:
            return self.note(env.module, node, "its arguments are not shown")
        for value in named.values():
            if not isinstance(without_none(value), Array | Static | Items | Given | Nothing):
                self.call(env, node, value, [Array()], {})
        if handler in ("cond", "while", "fori", "switch") and named:
            return self.note(env.module, node, "its functions and operands are passed by name")
        if handler == "scan":
            carry = values[1] if len(values) > 1 else Nothing()
            xs = values[2] if len(values) > 2 else Nothing()
            out = self.call(env, node, values[0], [carry, xs], {})
            inner = (
                out.parts[1] if isinstance(out, Items) and out.parts is not None and len(out.parts) == 2 else Array()
            )
            return Items("tuple", (carry, plain_arrays([inner])), None, self.own)
        if handler == "map":
            return plain_arrays([self.call(env, node, values[0], values[1:2], {})])
        if handler == "associative":
            return self.call(env, node, values[0], [values[1], values[1]], {}) if len(values) > 1 else Array()
        if handler == "cond":
            operands = values[3:]
            return join(self.call(env, node, each, operands, {}) for each in values[1:3])
        if handler == "switch":
            branches = values[1] if len(values) > 1 else Nothing()
            several = branches.parts if isinstance(branches, Items) and branches.parts else [element_of(branches)]
            return join(self.call(env, node, each, values[2:], {}) for each in several)
        if handler == "while":
            self.call(env, node, values[0], [values[2]], {}) if len(values) > 2 else None
            return self.call(env, node, values[1], [values[2]], {}) if len(values) > 2 else Array()
        if handler == "fori":
            return self.call(env, node, values[2], [Array(), values[3]], {}) if len(values) > 3 else Array()
        if handler == "tree":
            leaves = [leaf_of(each) for each in values[1:]]
            if any(isinstance(each, Unknown) for each in leaves):
                return self.note(env.module, node, "the leaves of the tree are not shown")
            found = self.call(env, node, values[0], leaves, {})
            return (
                values[1]
                if len(values) > 1 and isinstance(values[1], Object | LibraryObject)
                else plain_arrays([found])
            )
        if handler == "reduce":
            rest = [element_of(each) for each in values[1:2]]
            start = values[2] if len(values) > 2 else rest[0] if rest else Nothing()
            return self.call(env, node, values[0], [start, *rest], {})
        if handler == "at":
            where = self.call(env, node, values[0], values[1:2], {}) if len(values) > 1 else None
            del where
            return values[1] if len(values) > 1 else Array()
        return self.note(env.module, node, f"`{name}` calls a function in a way that is not listed")


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
