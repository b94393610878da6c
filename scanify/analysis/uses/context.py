"""Classify each use of a list by the code around the expression for it."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scanify.analysis.index.module import Module
from scanify.analysis.lists.home import Home, columns
from scanify.analysis.lists.statements import CHANGING, reads_alone
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parent_of, scope_of
from scanify.analysis.lower.text import called
from scanify.analysis.uses.use import Use

_ITERATES = frozenset("all any enumerate iter list reversed sum tuple zip".split())
_ITERATING = frozenset(f"itertools.{name}" for name in ("chain", "islice", "pairwise", "zip_longest"))
_GROWS = frozenset("append extend insert".split())
_READS = frozenset("index count copy __len__ __iter__ __getitem__ __contains__".split())
_KEPT = ("the list is kept under another name, in another object", True)
_RETURNED = ("the list itself is returned", True)
_JOINED = ("another list is made of it with `+` or `*`", False)
# Effect of the node around a list expression, and whether it may change the list.
_NEEDS: dict[type, tuple[str, bool]] = {
    **dict.fromkeys((ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.keyword), _KEPT),
    **dict.fromkeys((ast.Return, ast.Yield, ast.Lambda), _RETURNED),
    **dict.fromkeys((ast.BinOp, ast.AugAssign), _JOINED),
    ast.Compare: ("the list is compared", False),
    ast.FormattedValue: ("code makes text of the list", False),
}
_WRITES, _COMPARES, _KEYS = "code writes into a layer", "code compares layers as objects", "code tells layers apart"
_SETTERS = CHANGING | frozenset("setattr __setattr__ delattr __delattr__".split())


@dataclass(frozen=True, eq=False)
class Context:
    """The uses of one list in one file. Functions in `building` build it: there it is still a Python list."""

    home: Home
    building: frozenset[ast.AST]

    @property
    def module(self) -> Module:
        """The file."""
        return self.home.module

    def uses(self, node: ast.expr) -> Iterator[Use]:
        """Yield the uses of the list at a node, including uses through a local name for it."""
        above = parent_of(self.module, node)
        if self._builds(node, above):
            return
        match above:
            case _ if not _is_read(node):
                yield self._needs(node, "another list is put in its place")
            case ast.Attribute(attr=name):
                what = "the list grows after it was built" if name in _GROWS else f"code reads `.{name}` of it"
                yield self._needs(node, what, changes=name not in _READS)
            case ast.Subscript() if above.value is node:
                yield from self._of_element(node, above)
            case ast.For() | ast.comprehension() if above.iter is node:
                yield from self._iterated(node, node)
            case ast.Call() if above.func is node:
                yield self._needs(node, "it is called", changes=False)
            case ast.Call():
                yield from self._passed(node, above)
            case ast.IfExp() if above.test is not node:
                yield from self.uses(above)
            case ast.Starred() if isinstance(parent_of(self.module, above), ast.List | ast.Tuple | ast.Set | ast.Call):
                yield self._serves(node)
            case ast.YieldFrom() | ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                yield self._serves(node)
            case ast.Assign(targets=[ast.Name() as name]) | ast.AnnAssign(target=ast.Name() as name):
                yield from self._under_name(node, name)
            case ast.Assign(targets=[ast.Tuple() | ast.List()]):
                yield self._needs(node, "the list is taken apart", changes=False)
            case ast.Expr():
                pass
            case _ if self._is_test(node):
                yield self._serves(node)
            case _:
                what, changes = _NEEDS.get(type(above), ("code uses the list in a way that is not understood", True))
                yield self._needs(node, what, changes=changes)

    def _builds(self, node: ast.expr, above: ast.AST | None) -> bool:
        """True if a function that builds the list stores it or adds to it. A closure may do so later."""
        match above:
            case ast.Attribute(attr=name) if _is_read(node):
                builds = name in _GROWS
            case ast.Subscript() if above.value is node:
                builds = not _is_read(above)
            case _:
                builds = not _is_read(node)
        return builds and scope_of(self.module, node).function.node in self.building

    def _serves(self, node: ast.expr) -> Use:
        return Use(self.module.place(node), node)

    def _needs(self, node: ast.AST, what: str, rule: str = "", *, changes: bool = True) -> Use:
        return Use(self.module.place(node), node, what, rule, changes)

    def _passed(self, node: ast.expr, call: ast.Call) -> Iterator[Use]:
        name = self.home.builtin(call)
        if name in ("len", "bool"):
            yield self._serves(node)
        elif name in _ITERATES or self.home.library(call) in _ITERATING:
            yield from self._iterated(node, call)
        elif name in ("isinstance", "type"):
            yield self._needs(node, "code asks for the type of the list", "SCN318", changes=False)
        else:
            what = f"the list itself is passed to `{called(call) or '...'}`"
            yield self._needs(node, what, changes=not reads_alone(self.home, call))

    def _is_test(self, node: ast.AST) -> bool:
        """True if only the truth value of an expression matters."""
        match above := parent_of(self.module, node):
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                return test is node
            case ast.BoolOp():
                return self._is_test(above)
            case _:
                return isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not)

    def _under_name(self, node: ast.expr, name: ast.Name) -> Iterator[Use]:
        """Yield the uses of a local name that is bound once, to the list."""
        binding = scope_of(self.module, name).binding(name.id)
        inside = nodes_in(*getattr(binding.node, "body", ())) if binding is not None and binding.is_function else ()
        mentions = [each for each in inside if isinstance(each, ast.Name) and each.id == name.id]
        mentions = [each for each in mentions if scope_of(self.module, each).binding(name.id) is binding]
        if sum(not _is_read(each) for each in mentions) == 1:
            for each in mentions:
                yield from self.uses(each) if each is not name else ()
        else:
            yield self._needs(node, _KEPT[0])

    # -- elements ------------------------------------------------------------------------------------------------------

    def _iterated(self, node: ast.expr, walked: ast.expr) -> Iterator[Use]:
        """Yield the uses of iterating over the list, by the loop around `walked` or by a call inside its head."""
        yield self._serves(node)
        above = parent_of(self.module, walked)
        while isinstance(above, ast.Call) and above.func is not walked:
            if not {self.home.builtin(above), self.home.library(above)} & {*_ITERATES, *_ITERATING, "len", "next"}:
                what = f"its layers are passed to `{called(above) or '...'}`"
                yield self._needs(node, what, changes=not reads_alone(self.home, above))
                return
            walked, above = above, parent_of(self.module, above)
        if not isinstance(above, ast.For | ast.comprehension):
            return
        inside = above.body if isinstance(above, ast.For) else [parent_of(self.module, above) or above]
        for target, source in columns(self.home, above.target, walked):
            if source is not None and any(each is node for each in nodes_in(source)):
                for name in nodes_in(target):
                    if isinstance(name, ast.Name):
                        yield from self._as_objects(name.id, inside)

    def _of_element(self, node: ast.expr, element: ast.Subscript) -> Iterator[Use]:
        above = parent_of(self.module, element)
        if not _is_read(element):
            yield self._needs(node, "an element of the list is replaced")
            return
        yield self._serves(node)
        if isinstance(above, ast.Assign):
            around = scope_of(self.module, element).function.node
            for name in above.targets:
                yield from self._as_objects(getattr(name, "id", ""), getattr(around, "body", ()))
        yield from self._as_object(node, element)

    def _as_objects(self, name: str, inside: Iterable[ast.AST]) -> Iterator[Use]:
        """Yield uses of a named element that need the very object: a stack makes a new object for each use."""
        for node in nodes_in(*inside):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                yield from self._as_object(node, node)

    def _as_object(self, node: ast.expr, layer: ast.expr) -> Iterator[Use]:
        """Yield the use of a layer, or of a part of it, that needs the very object."""
        part, whole = layer, True
        above = parent_of(self.module, part)
        while isinstance(above, ast.Attribute | ast.Subscript) and above.value is part:
            whole &= isinstance(above, ast.Subscript)  # a subscript may take the layer out of a pair
            part, above = above, parent_of(self.module, above)
        match above:
            case _ if not _is_read(part):
                yield self._needs(node, _WRITES)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _SETTERS:
                yield self._needs(node, _WRITES)
            case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                pass
            case ast.Compare() | ast.Call(func=ast.Name(id="id" | "hash")) if whole:
                yield self._needs(node, _COMPARES, changes=False)
            case ast.Subscript() | ast.SetComp() | ast.Set() if whole:
                yield self._needs(node, _KEYS, changes=False)
            case ast.DictComp(key=key) if key is part:
                yield self._needs(node, _KEYS, changes=False)


def _is_read(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
