"""Calls of functions on trees: what they read of leaves, and what becomes of lists of leaves and trees of totals.

A tree of totals, or a list of leaves, is harmless where all of it goes into one total. Each question is answered by
what is read there instead, or None if nothing is.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, own_nodes, parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.leaf import EACH, LEAF, SAME, TOTAL, Result, applied, computed
from scanify.analysis.watchers.names import Body, callee, is_decorated, local_scope
from scanify.analysis.watchers.stacks import assigned
from scanify.analysis.watchers.tables import (
    ALLS,
    BYTES,
    COMBINES,
    DESERIALISES,
    FILTERS,
    FLATTENS,
    LEAF_SPECS,
    LEAVES,
    LOADS,
    MAKES_TREES,
    MAPS,
    PATHS,
    RAVELS,
    READERS,
    REDUCES,
    SERIALISES,
    STRUCTURES,
    TREE_AT,
    TYPE_TESTS,
    UNFLATTENS,
    VMAPS,
)

COUNT = "how many leaves there are"
_ONE_BY_ONE = "one leaf after another"
_STRUCTURE = "the structure of a tree"
_SAVED = "the bytes of a saved tree"
_MAX_DEPTH = 6
_LISTS = frozenset({"builtins.list", "builtins.tuple", "builtins.iter", "builtins.reversed"})
_ARRAYS = frozenset(f"{package}.{name}" for package in ("jax.numpy", "numpy") for name in ("array", "asarray", "stack"))
_MODULES = ("equinox.", "flax.", "haliax.", "scanify.", "builtins.list", "builtins.tuple", "builtins.object")
_TELLS = frozenset("print debug info warning warn error critical exception log".split())
_WRITES = frozenset("str repr format ascii pformat tree_pformat pprint tree_pprint".split())


def tree_reads(index: Index, module: Module, call: ast.Call, known: str) -> Iterator[str]:
    """Yield what a call of the function with a qualified name reads of the leaves of a tree."""
    trees = Trees(index, module)
    is_leaf = argument(call, 1 if known in LEAVES | FLATTENS else None, "is_leaf") if known in READERS else None
    if is_leaf is not None and not trees.finds_no_module(is_leaf):
        yield f"{trees.code(is_leaf)} of each part of a tree"
        return
    reads = [*trees.of_axes(call)] if known in VMAPS else [trees.of_call(call, known)]
    yield from (each for each in reads if each is not None)


def replaced_fields(index: Index, module: Module, call: ast.Call) -> frozenset[str] | None:
    """Return the fields that `where` of `tree_at` reads; None if that is not shown."""
    where = argument(call, 0, "where")
    known = callee(index, module, where) if where is not None else None
    if isinstance(known, Body):
        nodes = nodes_in(known.node)
        calls = any(isinstance(each, ast.Call) for each in nodes)
        return None if calls else frozenset(each.attr for each in nodes if isinstance(each, ast.Attribute))
    return None


def argument(call: ast.Call, at: int | None, name: str) -> ast.expr | None:
    """Return the argument of a call at a position, or with a name."""
    if at is not None and len(call.args) > at:
        return call.args[at]
    return next((each.value for each in call.keywords if each.arg == name), None)


@dataclass(frozen=True)
class Trees:
    """Follows trees and lists through the expressions and local names of one file."""

    index: Index
    module: Module

    def code(self, node: ast.AST) -> str:
        """Return the text of a node, in quotes."""
        return f"`{' '.join(self.module.code(node).split())}`"

    def _callee(self, function: ast.expr) -> object:
        return callee(self.index, self.module, function)

    def of_call(self, call: ast.Call, known: str) -> str | None:
        """Return what a call of a function on trees reads."""
        first, second = argument(call, 0, "f"), argument(call, 1, "tree")
        if known in MAPS and first is not None:
            return self._of_map(call, applied(self.index, self.module, first))
        if known in LEAVES:
            return self.of_list(call, self._result_in(first) if first is not None else LEAF)
        if known in FLATTENS:
            return self._of_flattened(call)
        if known in REDUCES:
            return self._of_reduce(first, second) if first is not None and second is not None else _ONE_BY_ONE
        if known in FILTERS:
            return self._of_filter(argument(call, 1, "filter_spec"))
        if known in STRUCTURES:
            return self._of_treedef(call)
        if known in BYTES | SERIALISES | DESERIALISES:
            return self._of_saved(call, known)
        if known in PATHS:
            return "the path of each leaf"
        return "all leaves as one vector" if known in RAVELS else None

    # -- functions of leaves and of parts of a tree ----------------------------------------------------------------

    def finds_no_module(self, predicate: ast.expr) -> bool:
        """True if an `is_leaf` stops at arrays and None alone, in which a list and a stack are the same."""
        known = self._callee(predicate)
        if isinstance(predicate, ast.Constant) or known in TYPE_TESTS:
            return True
        if not isinstance(known, Body) or is_decorated(self.index, known) or not known.node.args.args:
            return False
        inside, name = Trees(self.index, known.module), known.node.args.args[0].arg
        match known.node:
            case ast.Lambda(body=test) | ast.FunctionDef(body=[ast.Return(value=ast.expr() as test)]):
                return inside._tests_no_module(test, name)
            case ast.FunctionDef(body=[ast.Expr(), ast.Return(value=ast.expr() as test)]):
                return inside._tests_no_module(test, name)
            case _:
                return False

    def _tests_no_module(self, test: ast.expr, name: str) -> bool:
        match test:
            case ast.BoolOp(values=values):
                return all(self._tests_no_module(each, name) for each in values)
            case ast.Compare(left=ast.Name(id=read), ops=[ast.Is()], comparators=[ast.Constant()]):
                return read == name
            case ast.Call(func=function, args=[ast.Name(id=read), kinds]) if read == name:
                return self._callee(function) == "builtins.isinstance" and self._are_no_modules(kinds)
            case ast.Call(func=function, args=[ast.Name(id=read)]) if read == name:
                return self.finds_no_module(function)
            case _:
                return False

    def _are_no_modules(self, kinds: ast.expr) -> bool:
        match kinds:
            case ast.Tuple(elts=parts):
                return all(map(self._are_no_modules, parts))
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._are_no_modules(left) and self._are_no_modules(right)
            case _:
                found = self._callee(kinds)
                array = isinstance(found, str) and found.endswith(".NamedArray")
                return array or (isinstance(found, str) and not found.startswith(_MODULES))

    def _of_filter(self, spec: ast.expr | None) -> str | None:
        """`eqx.filter(model, spec)`: a function of each leaf; a tree is asked about where it is made."""
        if spec is None or isinstance(spec, ast.Constant) or self._is_made_by_map(spec):
            return None
        result = applied(self.index, self.module, spec)
        return None if result.is_harmless else result.text

    def _is_made_by_map(self, node: ast.expr) -> bool:
        """True if functions on trees, which are asked about where they are called, make a tree."""
        values = assigned(self.module, node) if isinstance(node, ast.Name) else [node]
        makers = (self._callee(each.func) if isinstance(each, ast.Call) else None for each in values)
        is_parameter = isinstance(node, ast.Name) and self._is_parameter(node)
        return bool(values) and not is_parameter and all(each in MAPS | PATHS | {TREE_AT} for each in makers)

    def _is_parameter(self, name: ast.Name) -> bool:
        scope = local_scope(self.module, name, name.id)
        return scope is not None and name.id in scope.params

    def of_axes(self, call: ast.Call) -> Iterator[str]:
        """`eqx.filter_vmap(f, in_axes=axis_of)`: functions of each leaf that choose the axis that is mapped."""
        for given in (argument(call, None, "in_axes"), argument(call, None, "out_axes")):
            for each in nodes_in(given) if given is not None else ():
                if not isinstance(each, ast.Name | ast.Attribute | ast.Lambda):
                    continue
                is_passed = isinstance(each, ast.Name) and self._is_parameter(each)
                if is_passed or isinstance(self._callee(each), Body):
                    result = applied(self.index, self.module, each)
                    yield from [] if result.is_harmless else [result.text]

    def _of_saved(self, call: ast.Call, known: str) -> str | None:
        """Return what is read of saved bytes, unless they are only loaded again. A note announces checkpoints."""
        spec = argument(call, 2, "filter_spec")
        if spec is not None and self._callee(spec) not in LEAF_SPECS:
            return "each leaf that it saves or loads"
        if known in BYTES:
            above = parent_of(self.module, call)
            return None if isinstance(above, ast.Call) and self._callee(above.func) in LOADS else _SAVED
        for load in (load for each in call.args if isinstance(each, ast.Name) for load in self.loads(each)):
            if getattr(parent_of(self.module, load), "attr", "") in ("getvalue", "getbuffer", "tell"):
                return _SAVED
        return None

    # -- trees with one value for each leaf ------------------------------------------------------------------------

    def _of_map(self, call: ast.Call, result: Result) -> str | None:
        if result.is_harmless or (result.value in TOTAL and not result.reads and self._is_totalled(call, result)):
            return None
        return result.text

    def _is_totalled(self, node: ast.expr, result: Result, depth: int = 0) -> bool:
        """True if all totals of a tree go into one."""
        match parent_of(self.module, node):
            case ast.Call(func=function, args=args) as call if node in args:
                known = self._callee(function)
                if known in REDUCES and len(args) > 1 and node is args[1]:
                    return self._of_reduce(args[0], node) is None
                listed = known in LEAVES and self.of_list(call, result, depth + 1) is None
                return listed or (known in ALLS and result.value == "all")
            case ast.Assign(targets=[ast.Name() as name]) if depth < _MAX_DEPTH:
                return all(self._is_totalled(load, result, depth + 1) for load in self.loads(name))
            case _:
                return False

    def _result_in(self, tree: ast.expr) -> Result:
        """The leaves of a tree: totals if a map makes it of such, else plain ones."""
        if isinstance(tree, ast.Name):
            tree = self._assigned_once(tree) or tree
        if isinstance(tree, ast.Call) and tree.args and self._callee(tree.func) in MAPS:
            result = applied(self.index, self.module, tree.args[0])
            return result if result.value in TOTAL else LEAF
        return LEAF

    def _assigned_once(self, name: ast.Name) -> ast.expr | None:
        scope = local_scope(self.module, name, name.id)
        made = [
            node.value
            for node in (own_nodes(scope.node) if scope is not None else ())
            if isinstance(node, ast.Assign) and any(getattr(each, "id", "") == name.id for each in node.targets)
        ]
        return made[0] if len(made) == 1 else None

    def _of_reduce(self, function: ast.expr, tree: ast.expr) -> str | None:
        """`tree.reduce(operator.add, totals)`, `tree.reduce(lambda total, x: total + jnp.sum(x), tree)`."""
        result, known = self._result_in(tree), self._callee(function)
        if isinstance(known, str):
            return None if COMBINES.get(known) == result.value else _ONE_BY_ONE
        match known.node if isinstance(known, Body) else None:
            case ast.Lambda(
                args=ast.arguments(args=[ast.arg(arg=total), ast.arg(arg=leaf)]),
                body=ast.BinOp(left=ast.Name(id=first), op=ast.Add(), right=added),
            ) if first == total and isinstance(known, Body):
                found = computed(self.index, known.module, added, {total: "sum", leaf: result.value})
                return None if found == Result("sum") else found.text
            case _:
                return _ONE_BY_ONE

    # -- lists with one value for each leaf ------------------------------------------------------------------------

    def of_list(self, node: ast.expr, result: Result, depth: int = 0) -> str | None:
        """Return what is read of a list with one value for each leaf."""
        if result.reads or depth > _MAX_DEPTH:
            return result.text
        match parent_of(self.module, node):
            case ast.comprehension(target=ast.Name(id=name)) as level if level.iter is node:
                return self._of_comprehension(level, name, result, depth)
            case ast.For():
                return _ONE_BY_ONE
            case ast.Call() as call if node in call.args:
                return self._passed(call, result, depth)
            case ast.Subscript() as single if single.value is node:
                above = parent_of(self.module, single)
                is_same = isinstance(above, ast.Attribute) and above.attr in ("dtype", "sharding", "devices")
                return None if is_same else "single leaves"
            case ast.UnaryOp(op=ast.Not()) | ast.If() | ast.Expr():
                return None
            case ast.Assign(targets=[ast.Name() as name]) if loads := self.loads(name):
                found = (self.of_list(load, result, depth + 1) for load in loads)
                return next((each for each in found if each is not None), None)
            case _:
                return "a list of all leaves"

    def _passed(self, call: ast.Call, result: Result, depth: int) -> str | None:
        known, value = self._callee(call.func), result.value
        if known in UNFLATTENS or getattr(call.func, "attr", "") == "unflatten":
            return None if result.is_harmless else result.text
        if known in ("jax.block_until_ready", "builtins.bool") or (known in MAPS and value == EACH):
            return None  # the map is asked about by itself
        if known in _LISTS or (known in _ARRAYS and value in TOTAL):
            return self.of_list(call, result, depth + 1)
        alone = not call.keywords and (len(call.args) == 1 or known == "builtins.sum")
        combine = COMBINES.get(known) if isinstance(known, str) and alone else None
        if combine is not None and (combine == value or (value == SAME and combine != "sum")):
            return None
        if known == "builtins.len" or (combine is not None and value == SAME):
            return COUNT
        return f"{self.code(call.func)} of all leaves" if combine is None else result.text

    def _of_comprehension(self, level: ast.comprehension, name: str, result: Result, depth: int) -> str | None:
        whole = parent_of(self.module, level)
        if not isinstance(whole, ast.ListComp | ast.GeneratorExp) or len(whole.generators) != 1:
            return _ONE_BY_ONE
        for test in level.ifs:
            found = computed(self.index, self.module, test, {name: result.value})
            if found != Result(SAME):
                return found.text
        found = computed(self.index, self.module, whole.elt, {name: result.value})
        return self.of_list(whole, found, depth + 1)

    def _of_flattened(self, call: ast.Call) -> str | None:
        """`leaves, treedef = jax.tree.flatten(tree)`."""
        match parent_of(self.module, call):
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name() as name, ast.Name() as treedef])]):
                found = [self.of_list(load, LEAF, 1) for load in self.loads(name) or [call]]
                found += [self._of_treedef(load) for load in self.loads(treedef)]
                return next((each for each in found if each is not None), None)
            case _:
                return "a list of all leaves"

    def loads(self, target: ast.Name) -> list[ast.expr]:
        """Return where a local name is read, in its function and in those inside of it; none for another name."""
        scope = local_scope(self.module, target, target.id)
        nodes = nodes_in(scope.node) if scope is not None and not scope.is_class else ()
        found = (each for each in nodes if isinstance(each, ast.Name) and each.id == target.id)
        return [each for each in found if isinstance(each.ctx, ast.Load)]

    # -- treedefs and texts ----------------------------------------------------------------------------------------

    def _of_treedef(self, node: ast.expr, depth: int = 0) -> str | None:
        """Return what is read of a treedef. Comparing it, or making trees of it, is the same for a list and a stack."""
        match parent_of(self.module, node):
            case ast.Compare() | ast.Expr():
                return None
            case ast.Call(func=function) as call if node in call.args:
                trees = self._callee(function) in MAKES_TREES
                return None if trees or self.is_only_told(call) else _STRUCTURE
            case ast.Attribute(attr="unflatten"):
                return None
            case ast.FormattedValue() as text:
                return None if self.is_only_told(text) else _STRUCTURE
            case ast.Assign(targets=[ast.Name() as name]) if depth < _MAX_DEPTH and (loads := self.loads(name)):
                found = (self._of_treedef(load, depth + 1) for load in loads)
                return next((each for each in found if each is not None), None)
            case _:
                return _STRUCTURE

    def is_only_told(self, node: ast.AST) -> bool:
        """True if only a person sees a text: it is printed, logged or raised, by itself or in a longer one."""
        for each in (node, *ancestors(self.module, node)):
            match each:
                case ast.Call(func=function) if _last(function) not in _TELLS | _WRITES:
                    if not isinstance(parent_of(self.module, each), ast.Raise):
                        return False
                case ast.Attribute() | ast.Subscript():
                    return False
                case ast.Raise() | ast.Assert():
                    return True
                case ast.Expr(value=ast.Call(func=function)):
                    return _last(function) in _TELLS
                case ast.stmt():
                    return False
        return False


def _last(function: ast.expr) -> str:
    return str(dotted(function) or getattr(function, "attr", "")).rpartition(".")[2]
