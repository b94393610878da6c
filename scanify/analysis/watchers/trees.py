"""What a call of a listed function reads of the leaves of a tree, whatever tree it is given; None if nothing.

Leaves are harmless where each is treated number by number, or all of them go into one total.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters, parent_of
from scanify.analysis.watchers.leaf import reads_in, reads_of, total_of
from scanify.analysis.watchers.library import (
    ARRAYS,
    BYTES,
    COMBINES,
    FILTERS,
    FLATTENS,
    JUDGED,
    LEAF_SPECS,
    LEAVES,
    LOADS,
    MAPS,
    PATHS,
    RAVELS,
    SERIALISES,
    STRUCTURES,
    TREE_AT,
    VMAPS,
    is_unlisted,
    optimizer_reads,
)
from scanify.analysis.watchers.names import Body, callee, callees, is_decorated, local_scope

COUNT, ONE_BY_ONE = "how many leaves there are", "one leaf after another"
NAMED_PARTS = "the parts of a tree that a lambda names"
CHILDREN = "the children of each part of a tree"
_SAVED = "the bytes of a saved tree"
# Of these are the tests of an `is_leaf` that stops at arrays, numbers and None alone.
_TESTING = (
    *(ast.BoolOp, ast.boolop, ast.Compare, ast.Is, ast.Call, ast.Tuple, ast.BinOp, ast.BitOr),
    *(ast.Name, ast.Attribute, ast.expr_context, ast.Constant, ast.Expr, ast.Return),
)


def argument(call: ast.Call, at: int | None, name: str) -> ast.expr | None:
    """Return the argument of a call at a position, or with a name."""
    if at is not None and len(call.args) > at:
        return call.args[at]
    return next((each.value for each in call.keywords if each.arg == name), None)


def reads_of_call(index: Index, module: Module, call: ast.Call) -> Iterator[str]:
    """Yield what a call reads, for each listed function that it may call."""
    for known in dict.fromkeys(callees(index, module, call.func)):
        if isinstance(known, str):
            found = _Call(index, module, call).reads(known) if known in JUDGED | VMAPS else optimizer_reads(known)
            yield from [found] if found is not None else []
            if is_unlisted(known):
                yield CHILDREN


@dataclass(frozen=True)
class _Call:
    index: Index
    module: Module
    call: ast.Call

    def _callee(self, function: ast.expr) -> object:
        return callee(self.index, self.module, function)

    def reads(self, known: str) -> str | None:
        """Return what a call of one function reads."""
        first = argument(self.call, 0, "f")
        is_leaf = argument(self.call, 1 if known in LEAVES | FLATTENS else None, "is_leaf")
        if is_leaf is not None and known not in TREE_AT and not self._finds_no_module(is_leaf):
            return f"`{' '.join(self.module.code(is_leaf).split())}` of each part of a tree"
        if known in MAPS and first is not None:
            return reads_of(self.index, self.module, first)
        if known in LEAVES:
            return self._of_list(self.call)
        if known in FILTERS:
            return self._of_filter(argument(self.call, 1, "filter_spec"))
        if known in STRUCTURES:
            same = isinstance(parent_of(self.module, self.call), ast.Compare)
            return None if same else "the structure of a tree"
        if known in BYTES | SERIALISES:
            return self._of_saved(known)
        if known in TREE_AT:
            return NAMED_PARTS if self._names_parts() else "parts of a tree that it replaces"
        if known in VMAPS:
            return self._of_axes()
        if known in PATHS:
            return "the path of each leaf"
        return "all leaves as one vector" if known in RAVELS else ONE_BY_ONE

    # -- functions of leaves and of parts of a tree -------------------------------------------------------------------

    def _finds_no_module(self, predicate: ast.expr) -> bool:
        """True if an `is_leaf` stops at arrays and None alone, in which a list and a stack are the same."""
        known = self._callee(predicate)
        if isinstance(predicate, ast.Constant) or known in ARRAYS:
            return True
        if not isinstance(known, Body) or is_decorated(self.index, known):
            return False
        nodes = nodes_in(*(known.node.body if isinstance(known.node, ast.FunctionDef) else [known.node.body]))
        names = [each for each in nodes if isinstance(each, ast.Name | ast.Attribute)]
        paths = [each for each in names if not isinstance(parent_of(known.module, each), ast.Attribute)]
        kinds = {callee(self.index, known.module, each) for each in paths if not self._is_parameter(known, each)}
        return kinds <= ARRAYS and all(isinstance(each, _TESTING) for each in nodes)

    def _is_parameter(self, function: Body, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in {each.arg for each in parameters(function.node)}

    def _of_filter(self, spec: ast.expr | None) -> str | None:
        """`eqx.filter(model, spec)`: a function of each leaf; a tree of flags is read where it is made."""
        if spec is None or isinstance(spec, ast.Constant):
            return None
        made = spec if isinstance(spec, ast.Call) else self._assigned(spec)
        if isinstance(made, ast.Call) and self._callee(made.func) in MAPS | PATHS | TREE_AT:
            return None
        return reads_of(self.index, self.module, spec)

    def _assigned(self, name: ast.expr) -> ast.expr | None:
        """Return the expression that a local name is bound to, by one assignment alone."""
        stores = [each for each in self._named(name) if not isinstance(each.ctx, ast.Load)]
        above = parent_of(self.module, stores[0]) if len(stores) == 1 else None
        return above.value if isinstance(above, ast.Assign) and above.targets == stores else None

    def _named(self, name: ast.expr) -> list[ast.Name]:
        """Return the places of a local name in its function; none if it is a parameter, or global."""
        scope = local_scope(self.module, name, name.id) if isinstance(name, ast.Name) else None
        if scope is None or scope.is_class or not isinstance(name, ast.Name) or name.id in scope.params:
            return []
        return [each for each in nodes_in(scope.node) if isinstance(each, ast.Name) and each.id == name.id]

    def _of_axes(self) -> str | None:
        """`eqx.filter_vmap(f, in_axes=axis_of)`: functions of each leaf that choose the axis that is mapped."""
        given = (argument(self.call, None, name) for name in ("in_axes", "out_axes"))
        names = (each for axes in given if axes is not None for each in nodes_in(axes))
        functions = (each for each in names if isinstance(each, ast.Name | ast.Attribute | ast.Lambda))
        return next((found for each in functions if (found := reads_of(self.index, self.module, each))), None)

    def _names_parts(self) -> bool:
        """True if lambdas name the fields that `tree_at` or `Shared` replaces: each list among them has this use."""
        given = [argument(self.call, 0, "where"), argument(self.call, 1, "where"), argument(self.call, 2, "get")]
        lambdas = [each for each in given if isinstance(each, ast.Lambda)]
        calls = any(isinstance(each, ast.Call) for each in nodes_in(*lambdas))
        wanted = 2 if ast.unparse(self.call.func).endswith("Shared") else 1
        return len(lambdas) >= wanted and not calls

    def _of_saved(self, known: str) -> str | None:
        """Return what is read of saved bytes, unless they are only loaded again. A note announces checkpoints."""
        spec = argument(self.call, 2, "filter_spec")
        if spec is not None and self._callee(spec) not in LEAF_SPECS:
            return "each leaf that it saves or loads"
        if known in BYTES:
            above = parent_of(self.module, self.call)
            return None if isinstance(above, ast.Call) and self._callee(above.func) in LOADS else _SAVED
        files = (parent_of(self.module, each) for arg in self.call.args for each in self._named(arg))
        return _SAVED if any(getattr(each, "attr", "") in ("getvalue", "getbuffer", "tell") for each in files) else None

    # -- totals of all leaves -----------------------------------------------------------------------------------------

    def _of_list(self, node: ast.expr) -> str | None:
        """Return what is read of a list of leaves."""
        match above := parent_of(self.module, node):
            case ast.comprehension(target=ast.Name(id=leaf), iter=source) if source is node:
                return self._of_comprehension(above, leaf)
            case ast.Assign(targets=[ast.Name() as name]) if isinstance(node, ast.Call):
                uses = [each for each in self._named(name) if each is not name]
                found = [self._of_list(each) for each in uses] or [ONE_BY_ONE]
                return next((each for each in found if each is not None), None)
            case ast.Call(func=function):
                return COUNT if self._callee(function) == "builtins.len" else ONE_BY_ONE
            case ast.UnaryOp(op=ast.Not()) | ast.If() | ast.Expr():
                return None
            case _:
                return ONE_BY_ONE

    def _of_comprehension(self, level: ast.comprehension, leaf: str) -> str | None:
        whole = parent_of(self.module, level)
        if not isinstance(whole, ast.ListComp | ast.GeneratorExp) or len(whole.generators) != 1:
            return ONE_BY_ONE
        found = [reads_in(self.index, self.module, each, leaf, is_test=True) for each in level.ifs]
        above = parent_of(self.module, whole)
        is_plain = isinstance(above, ast.Call) and not above.keywords
        combine = COMBINES.get(str(self._callee(above.func))) if is_plain else None  # type: ignore[union-attr]
        if combine is None or total_of(self.index, self.module, whole.elt, leaf) != combine:
            found.append(reads_in(self.index, self.module, whole.elt, leaf) or ONE_BY_ONE)
        return next((each for each in found if each is not None), None)
