"""Find what a call of a listed function reads of the leaves of a tree, whatever the tree; None if nothing.

Reading leaves is harmless if each number is treated by itself, or if all leaves are reduced to one total.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.watchers.leaf import Leaf, Reads, reads_of
from scanify.analysis.watchers.library import ARRAYS, COMBINES, JUDGED, KINDS, LEAF_SPECS, is_unlisted, optimizer_reads
from scanify.analysis.watchers.names import Body, bindings_of, callee, callees, local_scope

COUNT, ONE_BY_ONE = "how many leaves there are", "one leaf after another"
NAMED_PARTS = "the parts of a tree that a lambda names"
CHILDREN = "the children of each part of a tree"
_SAVED = "the bytes of a saved tree"
_READ = {"bytes": _SAVED, "path": "the path of each leaf", "vector": "all leaves as one vector"}
_OF_FILES = frozenset("getvalue getbuffer tell".split())  # they report how many bytes were saved


def reads_of_call(index: Index, module: Module, call: ast.Call) -> Iterator[str]:
    """Yield what a call reads, for each listed function that it may call."""
    for known in dict.fromkeys(callees(index, module, call.func)):
        if isinstance(known, str):
            kind = KINDS[known] if known in JUDGED or KINDS.get(known) == "vmap" else None
            found = _Call(index, module, call).reads(kind) if kind is not None else optimizer_reads(known)
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

    def _argument(self, at: int | None, name: str) -> ast.expr | None:
        if at is not None and len(self.call.args) > at:
            return self.call.args[at]
        return next((each.value for each in self.call.keywords if each.arg == name), None)

    def reads(self, kind: str) -> str | None:
        """Return what a call of a function of one kind reads."""
        is_leaf = self._argument(1 if kind in ("leaves", "flatten") else None, "is_leaf")
        if is_leaf is not None and kind != "part" and not self._finds_no_module(is_leaf):
            return f"`{' '.join(self.module.code(is_leaf).split())}` of each part of a tree"
        match kind, self._argument(0, "f"):
            case "map", ast.expr() as function:
                return reads_of(self.index, self.module, function)
            case "leaves", _:
                return self._of_leaves()
            case "filter", _:
                return self._of_filter(self._argument(1, "filter_spec"))
            case "structure", _:
                return None if isinstance(parent_of(self.module, self.call), ast.Compare) else "the structure of a tree"
            case "file", _:  # a note announces checkpoints
                spec = self._argument(2, "filter_spec")
                if spec is not None and self._callee(spec) not in LEAF_SPECS:
                    return "each leaf that it saves or loads"
                return _SAVED if _OF_FILES & self.index.words(self.module.path) else None
            case "part", _:
                return NAMED_PARTS if self._names_parts() else "parts of a tree that it replaces"
            case "vmap", _:
                axes = [each for each in (self._argument(None, "in_axes"), self._argument(None, "out_axes")) if each]
                is_plain = not any(isinstance(each, ast.Name | ast.Attribute | ast.Lambda) for each in nodes_in(*axes))
                return None if is_plain else "the axis of each leaf"
            case _:
                return _READ.get(kind, ONE_BY_ONE)

    def _finds_no_module(self, predicate: ast.expr) -> bool:
        """True if an `is_leaf` stops only at arrays, numbers and None, where a list and a stack are the same."""
        known = self._callee(predicate)
        if isinstance(predicate, ast.Constant) or known in ARRAYS:
            return True
        body = known.node.body if isinstance(known, Body) and known.is_plain else None
        match body[-1] if isinstance(body, list) and len(body) == 1 else body:
            case ast.Compare(ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
                return True
            case ast.Call(func=function, args=[_, kinds]) | ast.Return(value=ast.Call(func=function, args=[_, kinds])):
                several = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
                assert isinstance(known, Body)
                named = {callee(self.index, known.module, each) for each in (function, *several)}
                return "builtins.isinstance" in named and named <= ARRAYS
            case _:
                return False

    def _of_filter(self, spec: ast.expr | None) -> str | None:
        """`eqx.filter(model, spec)`: judge a function of each leaf; a tree of flags is judged where it is built."""
        name = spec.id if isinstance(spec, ast.Name) else ""
        scope = local_scope(self.module, spec, name) if spec is not None and name else None
        match bindings_of(scope, name) if scope is not None and name not in scope.params else []:
            case [ast.Assign(targets=[ast.Name()], value=ast.Call(func=function))]:
                if KINDS.get(str(self._callee(function))) in ("map", "path", "part"):
                    return None
        is_plain = spec is None or isinstance(spec, ast.Constant)
        return None if is_plain else reads_of(self.index, self.module, spec)  # type: ignore[arg-type]

    def _names_parts(self) -> bool:
        """True if lambdas name the fields that `tree_at` or `Shared` replaces: a use of each list among them."""
        given = [self._argument(0, "where"), self._argument(1, "where"), self._argument(2, "get")]
        lambdas = [each for each in given if isinstance(each, ast.Lambda)]
        calls = any(isinstance(each, ast.Call) for each in nodes_in(*lambdas))
        wanted = 2 if ast.unparse(self.call.func).endswith("Shared") else 1
        return len(lambdas) >= wanted and not calls

    def _of_leaves(self) -> str | None:
        """Return what code reads of a list of leaves; None if it only reduces the list to one total."""
        match above := parent_of(self.module, self.call):
            case ast.comprehension(target=ast.Name(id=leaf), iter=source) if source is self.call:
                return self._of_comprehension(above, leaf)
            case ast.Call(func=function) if self._callee(function) == "builtins.len":
                return COUNT
            case ast.UnaryOp(op=ast.Not()) | ast.If() | ast.Expr():
                return None
            case _:
                return ONE_BY_ONE

    def _of_comprehension(self, level: ast.comprehension, name: str) -> str | None:
        whole, leaf = parent_of(self.module, level), Leaf(self.index, self.module, frozenset({name}))
        if not isinstance(whole, ast.ListComp | ast.GeneratorExp) or len(whole.generators) != 1:
            return ONE_BY_ONE
        above = parent_of(self.module, whole)
        is_plain = isinstance(above, ast.Call) and not above.keywords
        combine = COMBINES.get(str(self._callee(above.func))) if is_plain else None  # type: ignore[union-attr]
        try:
            for test in level.ifs:
                leaf.test(test)
            if combine is not None and leaf.total(whole.elt) == combine:
                return None
            leaf.value(whole.elt)
        except Reads as found:
            return str(found)
        return ONE_BY_ONE
