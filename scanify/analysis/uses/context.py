"""Classify each use of a list by the code around the expression that stands for it."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scanify.analysis.index.module import Module
from scanify.analysis.lists.home import Home, columns
from scanify.analysis.lists.statements import CHANGING, reads_alone
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters, parent_of, scope_of
from scanify.analysis.lower.text import called
from scanify.analysis.uses.use import Does, Use

_ITERATES = frozenset("all any enumerate filter iter list map max min reversed sum tuple zip".split())
_ITERATING = frozenset(
    {"functools.reduce", *(f"itertools.{name}" for name in ("chain", "islice", "pairwise", "zip_longest"))}
)
_GROWS = frozenset("append extend insert".split())
_READS = frozenset("index count copy __len__ __iter__ __getitem__ __contains__".split())
_KEPT = ("the list is kept under another name, in another object", Does.OTHER)
_RETURNED = ("the list itself is returned", Does.OTHER)
_JOINED = ("another list is made of it with `+` or `*`", Does.OBJECT)
# What else the node around an expression does with the list that it stands for.
_NEEDS: dict[type, tuple[str, Does]] = {
    **dict.fromkeys((ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.keyword), _KEPT),
    **dict.fromkeys((ast.Return, ast.Yield, ast.Lambda), _RETURNED),
    **dict.fromkeys((ast.BinOp, ast.AugAssign), _JOINED),
    ast.Compare: ("the list is compared", Does.OBJECT),
    ast.FormattedValue: ("code makes text of the list", Does.OBJECT),
}
_SETTERS = CHANGING | frozenset("setattr __setattr__ delattr __delattr__".split())


@dataclass(frozen=True, eq=False)
class Context:
    """The uses of one list in one file. `building` are the functions that build it: there it is still a list."""

    home: Home
    building: frozenset[ast.AST]

    @property
    def module(self) -> Module:
        """The file."""
        return self.home.module

    def uses(self, node: ast.expr) -> Iterator[Use]:
        """The uses of the list that a node stands for, those under a local name of it included."""
        above = parent_of(self.module, node)
        if self._builds(node, above):
            return
        if not _is_read(node):
            yield self._needs(node, "another list is put in its place")
            return
        match above:
            case ast.Attribute(attr=name):
                if name in _GROWS:
                    yield self._needs(node, "the list grows after it was built")
                else:
                    does = Does.OBJECT if name in _READS else Does.OTHER
                    yield self._needs(node, f"code reads `.{name}` of it", does=does)
            case ast.Subscript() if above.value is node:
                yield from self._of_element(node, above)
            case ast.For() | ast.comprehension() if above.iter is node:
                yield from self._walk(node, node)
            case ast.Call() if above.func is node:
                yield self._needs(node, "it is called", does=Does.OBJECT)
            case ast.Call():
                yield from self._given(node, above)
            case ast.IfExp() if above.test is not node:
                yield from self.uses(above)
            case ast.Starred() if isinstance(parent_of(self.module, above), ast.List | ast.Tuple | ast.Set | ast.Call):
                yield self._serves(node)
            case ast.YieldFrom() | ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                yield self._serves(node)
            case ast.Assign(targets=[ast.Name() as name]) | ast.AnnAssign(target=ast.Name() as name):
                yield from self._under_name(node, name)
            case ast.Assign(targets=[ast.Tuple() | ast.List()]):
                yield self._needs(node, "the list is taken apart", does=Does.OBJECT)
            case ast.Expr():
                pass
            case _ if self._is_test(node):
                yield self._serves(node)
            case _:
                what, does = _NEEDS.get(type(above), ("code uses the list in a way that is not understood", Does.OTHER))
                yield self._needs(node, what, does=does)

    def _builds(self, node: ast.expr, above: ast.AST | None) -> bool:
        """True if a function that builds the list stores it, or adds to it. A closure may do so later."""
        match above:
            case ast.Attribute(attr=name) if _is_read(node):
                builds = name in _GROWS
            case ast.Subscript() if above.value is node:
                builds = not _is_read(above)
            case _:
                builds = not _is_read(node)
        return builds and scope_of(self.module, node).function.node in self.building

    def _serves(self, node: ast.expr) -> Use:
        return Use(self.module.place(node), Does.SERVED, node=node)

    def _needs(self, node: ast.AST, what: str, rule: str = "", does: Does = Does.OTHER) -> Use:
        return Use(self.module.place(node), does, what, rule, node)

    def _given(self, node: ast.expr, call: ast.Call) -> Iterator[Use]:
        """The list is an argument."""
        name = self.home.builtin(call)
        if name in ("len", "bool"):
            yield self._serves(node)
        elif name in _ITERATES or self.home.library(call) in _ITERATING or self._extends_a_list(call):
            yield from self._walk(node, call)
        elif name in ("isinstance", "type"):
            yield self._needs(node, "code asks for the type of the list", "SCN318", Does.OBJECT)
        else:
            does = Does.OBJECT if reads_alone(self.home, call) else Does.OTHER
            yield self._needs(node, f"the list itself is passed to `{called(call) or '...'}`", does=does)

    def _extends_a_list(self, call: ast.Call) -> bool:
        """True if a list of this function, made by a display, gets the elements: `found.extend(model.layers)`."""
        match call.func:
            case ast.Attribute(value=ast.Name() as name, attr="extend"):
                values = [value for _, value in self.home.values_of(name.id)]
                return self.home.is_local(name) and bool(values) and all(isinstance(each, ast.List) for each in values)
        return False

    def _is_test(self, node: ast.AST) -> bool:
        """True if only the truth of an expression matters."""
        above = parent_of(self.module, node)
        match above:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                return test is node
            case ast.UnaryOp(op=ast.Not()):
                return True
            case ast.comprehension(ifs=tests):
                return any(test is node for test in tests)
            case ast.BoolOp():
                return self._is_test(above)
            case _:
                return False

    def _under_name(self, node: ast.expr, name: ast.Name) -> Iterator[Use]:
        """The uses of a local name that is bound once, to the list."""
        scope = scope_of(self.module, name)
        binding = scope.binding(name.id)
        inside = nodes_in(*getattr(binding.node, "body", ())) if binding is not None and binding.is_function else ()
        mentions = [each for each in inside if isinstance(each, ast.Name) and each.id == name.id]
        mentions = [each for each in mentions if scope_of(self.module, each).binding(name.id) is binding]
        if not mentions or sum(not isinstance(each.ctx, ast.Load) for each in mentions) != 1:
            yield self._needs(node, _KEPT[0])
            return
        for each in mentions:
            if each is not name:
                yield from self.uses(each)

    # -- elements ------------------------------------------------------------------------------------------------------

    def _walk(self, node: ast.expr, walked: ast.expr) -> Iterator[Use]:
        """The list is iterated over, by the loop around `walked` or by a call inside of its head."""
        yield self._serves(node)
        above = parent_of(self.module, walked)
        if isinstance(walked, ast.Call):
            yield from self._by_function(node, walked)
        while isinstance(above, ast.Call):
            yield from self._by_function(node, above)
            walked, above = above, parent_of(self.module, above)
        if isinstance(above, ast.For):
            inside: Iterable[ast.AST] = above.body
        elif isinstance(above, ast.comprehension):
            inside = [parent_of(self.module, above) or above]
        else:
            return
        for target, source in columns(self.home, above.target, walked):
            if source is not None and any(each is node for each in nodes_in(source)):
                for name in nodes_in(target):
                    if isinstance(name, ast.Name):
                        yield from self._as_objects(name.id, inside)

    def _by_function(self, node: ast.expr, call: ast.Call) -> Iterator[Use]:
        """A function that a call of `map`, `filter`, `reduce` or `sorted` applies to elements."""
        keys = [each.value for each in call.keywords if each.arg == "key"]
        mapped = self.home.builtin(call) in ("map", "filter") or self.home.library(call) == "functools.reduce"
        for function in [*call.args[:1], *keys] if mapped else keys:
            if isinstance(function, ast.Lambda):
                for each in parameters(function):
                    yield from self._as_objects(each.arg, [function.body])
            elif not isinstance(function, ast.Constant):
                yield self._needs(node, f"`{self.module.code(function)}` is passed the layers")

    def _of_element(self, node: ast.expr, element: ast.Subscript) -> Iterator[Use]:
        above = parent_of(self.module, element)
        if not _is_read(element):
            yield self._needs(node, "an element of the list is replaced")
            return
        yield self._serves(node)
        if isinstance(above, ast.Assign) and all(isinstance(each, ast.Name) for each in above.targets):
            around = scope_of(self.module, element).function.node
            for name in above.targets:
                yield from self._as_objects(getattr(name, "id", ""), getattr(around, "body", ()))
        yield from self._as_object(node, element)

    def _as_objects(self, name: str, inside: Iterable[ast.AST]) -> Iterator[Use]:
        """The uses of an element under a name that need the very object: a stack makes a new one for each use."""
        for node in nodes_in(*inside):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                yield from self._as_object(node, node)

    def _as_object(self, node: ast.expr, layer: ast.expr) -> Iterator[Use]:
        """Yield the use of a layer, or of a part of it, that needs the very object."""
        part: ast.expr = layer
        above, whole = parent_of(self.module, part), True
        while isinstance(above, ast.Attribute | ast.Subscript) and above.value is part:
            whole &= isinstance(above, ast.Subscript)  # of a pair with the layer in it
            part, above = above, parent_of(self.module, above)
        match above:
            case _ if not _is_read(part):
                yield self._needs(node, "code writes into a layer")
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _SETTERS:
                yield self._needs(node, "code writes into a layer")
            case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                pass
            case ast.Compare() | ast.Call(func=ast.Name(id="id" | "hash")) if whole:
                yield self._needs(node, "code compares layers as objects", does=Does.OBJECT)
            case ast.Subscript() | ast.SetComp() | ast.Set() if whole:
                yield self._needs(node, "code tells layers apart as objects", does=Does.OBJECT)
            case ast.DictComp(key=key) if key is part:
                yield self._needs(node, "code tells layers apart as objects", does=Does.OBJECT)


def _is_read(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
