"""What becomes of a tree of totals, or of a list of leaves: harmless where all of it goes into one total.

Each question is answered by what is read there instead, or None where nothing is.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, own_nodes, parent_of, scope_of
from scanify.analysis.watchers.names import Body, callee, local_scope
from scanify.analysis.watchers.tables import ALLS, COMBINES, FLATTENS, LEAVES, MAPS, REDUCES, UNFLATTENS
from scanify.analysis.watchers.trees.leaf import applied, computed
from scanify.analysis.watchers.trees.values import ELEMENTWISE, HARMLESS, TOTAL, Kind, Value

_MAX_DEPTH = 6
_LISTS = frozenset({"builtins.list", "builtins.tuple", "builtins.iter", "builtins.reversed"})
_ARRAYS = frozenset(f"{package}.{name}" for package in ("jax.numpy", "numpy") for name in ("array", "asarray", "stack"))
_ASIDE = frozenset({"jax.block_until_ready", "builtins.bool", "builtins.isinstance", "builtins.type"})
_SINGLE = "single leaves"
COUNT = "how many leaves there are"


@dataclass(frozen=True)
class Uses:
    """Follows values through the expressions and names of one file."""

    index: Index
    module: Module

    # -- a tree with one value for each leaf -----------------------------------------------------------------------

    def of_tree(self, node: ast.expr, value: Value, depth: int = 0) -> str | None:
        """What is read of a tree whose leaves are `value`."""
        if value.kind in HARMLESS:
            return None
        if value.kind not in TOTAL:
            return value.reads or "the shape of each leaf"
        total = self._tree_total(node, value, depth)
        return None if total else "a total of each leaf"

    def _tree_total(self, node: ast.expr, value: Value, depth: int) -> bool:
        """Whether all totals of a tree go into one."""
        parent = parent_of(self.module, node)
        if isinstance(parent, ast.Call) and node in parent.args:
            known = callee(self.index, self.module, parent.func)
            if known in LEAVES:
                return self.of_list(parent, value, depth + 1) is None
            if known in REDUCES and len(parent.args) >= 2 and node is parent.args[1]:
                return self._combine(parent.args[0]) == value.kind.value
            if known in COMBINES and self._is_mapped_list(node):
                return COMBINES[known] == value.kind.value
            return known in ALLS and value.kind is Kind.ALL
        return self._each_load(node, lambda load: self._tree_total(load, value, depth + 1), depth)

    def _is_mapped_list(self, node: ast.expr) -> bool:
        """`tree_map(f, tree_leaves(tree))`, which is a list."""
        return isinstance(node, ast.Call) and len(node.args) == 2 and self._is_leaves(node.args[1])

    def _combine(self, function: ast.expr) -> str | None:
        """How a function of two values combines them: "sum" for `operator.add` and `lambda a, b: a + b`."""
        known = callee(self.index, self.module, function)
        if isinstance(known, str):
            return COMBINES.get(known)
        if not isinstance(known, Body) or not isinstance(known.node, ast.Lambda):
            return None
        names = [each.arg for each in known.node.args.args]
        match known.node.body:
            case ast.BinOp(left=ast.Name(id=one), op=ast.Add(), right=ast.Name(id=two)) if {one, two} == set(names):
                return "sum"
            case ast.BoolOp(op=op, values=[ast.Name(id=one), ast.Name(id=two)]) if {one, two} == set(names):
                return "all" if isinstance(op, ast.And) else "any"
            case ast.Call(func=called, args=[ast.Name(id=one), ast.Name(id=two)]) if {one, two} == set(names):
                return self._combine(called)
            case _:
                return None

    def of_reduce(self, call: ast.Call) -> str | None:
        """What `tree.reduce(f, tree)` reads, where the tree is of leaves: `lambda total, x: total + jnp.sum(x)`."""
        known = callee(self.index, self.module, call.args[0])
        if isinstance(known, str) and known in COMBINES:
            return None if COMBINES[known] == self.in_tree(call.args[1]).kind.value else "one leaf after another"
        if isinstance(known, Body) and isinstance(known.node, ast.Lambda) and len(known.node.args.args) == 2:
            names = [each.arg for each in known.node.args.args]
            match known.node.body:
                case ast.BinOp(left=ast.Name(id=one), op=ast.Add(), right=added) if one == names[0]:
                    value = computed(self.index, known.module, added, {names[1]: self.in_tree(call.args[1])})
                    return None if value.kind is Kind.SUM else _reads(value)
                case ast.Call(func=called, args=[ast.Name(id=one), added]) if one == names[0]:
                    value = computed(self.index, known.module, added, {names[1]: self.in_tree(call.args[1])})
                    return None if self._combine(called) == value.kind.value else _reads(value)
                case _ if (combine := self._combine(call.args[0])) is not None:
                    return None if combine == self.in_tree(call.args[1]).kind.value else "one leaf after another"
        return "one leaf after another"

    def in_tree(self, tree: ast.expr) -> Value:
        """What the leaves of a tree are: those of a map what its function gives, all others just leaves."""
        if isinstance(tree, ast.Name) and (scope := local_scope(self.module, tree, tree.id)) is not None:
            made = [
                node.value
                for node in own_nodes(scope.node)
                if isinstance(node, ast.Assign)
                and any(isinstance(each, ast.Name) and each.id == tree.id for each in node.targets)
            ]
            return self.in_tree(made[0]) if len(made) == 1 and not isinstance(made[0], ast.Name) else ELEMENTWISE
        if isinstance(tree, ast.Call) and tree.args and callee(self.index, self.module, tree.func) in MAPS:
            value = applied(self.index, self.module, tree.args[0])
            return value if value.kind in TOTAL else ELEMENTWISE
        return ELEMENTWISE

    # -- a list of leaves, or of one value for each ----------------------------------------------------------------

    def of_list(self, node: ast.expr, value: Value, depth: int = 0) -> str | None:
        """What is read of a list with `value` for each leaf."""
        if depth > _MAX_DEPTH or value.kind is Kind.OTHER:
            return _reads(value)
        parent = parent_of(self.module, node)
        match parent:
            case ast.comprehension() if parent.iter is node:
                return self._comprehension(parent, [(parent.target, value)], depth)
            case ast.For() if parent.iter is node:
                return self._loop(parent, [(parent.target, value)])
            case ast.Call() if node in parent.args:
                return self._given(parent, node, value, depth)
            case ast.Subscript() if parent.value is node:
                return self._single(parent)
            case ast.UnaryOp(op=ast.Not()) | ast.If() | ast.IfExp() | ast.Assert() | ast.Expr():
                return None
            case ast.Compare() | ast.BoolOp():
                return COUNT
            case _:
                reads: list[str] = []

                def load(name: ast.expr) -> bool:
                    found = self.of_list(name, value, depth + 1)
                    reads.extend([found] if found is not None else [])
                    return found is None

                if self._each_load(node, load, depth):
                    return None
                return reads[0] if reads else "a list of all leaves"

    def _single(self, parent: ast.Subscript) -> str | None:
        above = parent_of(self.module, parent)
        if isinstance(above, ast.Attribute) and above.attr in ("dtype", "sharding", "device", "devices"):
            return None
        return _SINGLE

    def _given(self, call: ast.Call, node: ast.expr, value: Value, depth: int) -> str | None:
        known = callee(self.index, self.module, call.func)
        if known in _ASIDE or (known in UNFLATTENS and value.kind in HARMLESS):
            return None
        if known in MAPS and value.kind is Kind.ELEMENTWISE:
            return None  # what the map does with each of them is asked about there
        if known in _LISTS:
            return self.of_list(call, value, depth + 1)
        if known == "builtins.len":
            return COUNT
        if known == "builtins.zip":
            return self._zipped(call, depth)
        if known == "builtins.map" and len(call.args) >= 2:
            return self.of_list(call, applied(self.index, self.module, call.args[0]), depth + 1)
        if known in _ARRAYS and value.kind in TOTAL:
            return self.of_list(call, value, depth + 1)
        combine = COMBINES.get(known) if isinstance(known, str) else None
        if combine is None or call.keywords:
            return _SINGLE if known == "builtins.next" else f"`{self.module.code(call.func)}` of all leaves"
        return self._combined(combine, value)

    def _combined(self, combine: str, value: Value) -> str | None:
        """What is read where a list of one value for each leaf is combined."""
        if combine == value.kind.value:
            return None
        if value.kind is Kind.SAME and combine != "sum":
            return None
        if value.kind is Kind.ELEMENTWISE and combine in ("all", "any"):
            return None  # of truth values: each is one thing, however it is held
        return COUNT if value.kind is Kind.SAME else _reads(value)

    def _zipped(self, call: ast.Call, depth: int) -> str | None:
        parent = parent_of(self.module, call)
        trees = [tree for each in call.args if (tree := self._tree_of(each)) is not None]
        target = getattr(parent, "target", None)
        if not isinstance(target, ast.Tuple) or not len(trees) == len(call.args) == len(target.elts):
            return "one leaf after another"
        if not _is_check(self.module, call):
            return "the leaves of several trees side by side"
        targets = [(each, ELEMENTWISE) for each in target.elts]
        if isinstance(parent, ast.For):
            return self._loop(parent, targets)
        assert isinstance(parent, ast.comprehension)
        return self._comprehension(parent, targets, depth)

    def _is_leaves(self, node: ast.expr) -> bool:
        """Whether an expression is a list of the leaves of some tree."""
        return self._tree_of(node) is not None

    def _tree_of(self, node: ast.expr) -> ast.expr | None:
        """The tree that an expression lists the leaves of; None for any other."""
        if isinstance(node, ast.Call):
            listed = node.args and callee(self.index, self.module, node.func) in LEAVES
            return node.args[0] if listed else None
        if not isinstance(node, ast.Name):
            return None
        scope = local_scope(self.module, node, node.id)
        for made in own_nodes(scope.node) if scope is not None else ():
            if not isinstance(made, ast.Assign) or not isinstance(made.value, ast.Call) or not made.value.args:
                continue
            target, known = made.targets[0], callee(self.index, self.module, made.value.func)
            if known in FLATTENS and isinstance(target, ast.Tuple):
                target = target.elts[0]
            if known in LEAVES | FLATTENS and isinstance(target, ast.Name) and target.id == node.id:
                return made.value.args[0]
        return None

    def _comprehension(self, level: ast.comprehension, targets: list[tuple[ast.expr, Value]], depth: int) -> str | None:
        whole = parent_of(self.module, level)
        if not isinstance(whole, ast.ListComp | ast.GeneratorExp) or len(whole.generators) != 1:
            return "one leaf after another"
        names = _names(targets)
        if names is None:
            return "one leaf after another"
        for test in level.ifs:
            value = computed(self.index, self.module, test, names)
            if value.kind is not Kind.SAME:
                return _reads(value)
        value = computed(self.index, self.module, whole.elt, names)
        return self.of_list(whole, value, depth + 1)

    def _loop(self, loop: ast.For, targets: list[tuple[ast.expr, Value]]) -> str | None:
        """What a loop over leaves reads: nothing but a total where its body is `total += jnp.sum(leaf)`."""
        names = _names(targets)
        if names is None:
            return "one leaf after another"
        for statement in loop.body:
            match statement:
                case (
                    ast.AugAssign(op=ast.Add(), value=added)
                    | ast.Assign(value=ast.BinOp(left=ast.Name(), op=ast.Add(), right=added))
                ):
                    value = computed(self.index, self.module, added, names)
                    if value.kind is not Kind.SUM:
                        return COUNT if value.kind is Kind.SAME else _reads(value)
                case ast.Assert(test=tested) | ast.Expr(value=tested):
                    value = computed(self.index, self.module, tested, names)
                    if value.kind not in (Kind.SAME, Kind.ELEMENTWISE, Kind.ALL):
                        return _reads(value)
                case _:
                    return "one leaf after another"
        return None

    # -- names -----------------------------------------------------------------------------------------------------

    def _each_load(self, node: ast.expr, harmless: Callable[[ast.expr], bool], depth: int) -> bool:
        """Whether a value is bound to one name, and each place that reads the name is harmless."""
        parent = parent_of(self.module, node)
        if depth > _MAX_DEPTH or not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
            return False
        target = parent.targets[0]
        return isinstance(target, ast.Name) and all(map(harmless, self.loads(target)))

    def loads(self, target: ast.Name) -> Iterator[ast.expr]:
        """Where a local name is read, in its function and in those inside of it."""
        scope = scope_of(self.module, target).function
        for node in own_nodes(scope.node):
            waiting = [node]
            if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
                waiting = list(nodes_in(node))
            for each in waiting:
                if isinstance(each, ast.Name) and each.id == target.id and isinstance(each.ctx, ast.Load):
                    yield each


def _names(targets: list[tuple[ast.expr, Value]]) -> dict[str, Value] | None:
    names: dict[str, Value] = {}
    for target, value in targets:
        if not isinstance(target, ast.Name):
            return None
        names[target.id] = value
    return names


def _reads(value: Value) -> str:
    return value.reads or ("a total of each leaf" if value.kind in TOTAL else "one leaf after another")


def _is_check(module: Module, call: ast.Call) -> bool:
    """Whether what is done with the leaves of trees is to compare them: where they do not go together, it raises."""
    for above in ancestors(module, call):
        if isinstance(above, ast.For):
            return all(isinstance(each, ast.Assert | ast.Expr) for each in above.body)
        if isinstance(above, ast.stmt):
            return isinstance(above, ast.Assert)
    return False
