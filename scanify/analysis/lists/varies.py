"""How an argument of a constructor differs from layer to layer, by the loops that make the layers."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.statements import assignments
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.home import COPIES, Home, Repeat, assigned, columns, given_in
from scanify.analysis.lists.layer_list import Varies
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.scope import ancestors
from scanify.analysis.lower.text import root

_KEYS = frozenset(f"jax.random.{name}" for name in ("split", "fold_in", "key", "PRNGKey", "clone", "wrap_key_data"))
_SPLIT = "jax.random.split"
_PLAIN = frozenset("len min max int float abs sum round bool str tuple list divmod pow range".split())
_ARRAYS = ("jax.numpy.", "jax.random.", "jax.nn.", "jax.lax.", "math.")
_PARTS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Dict, ast.JoinedStr,
    ast.FormattedValue, ast.Slice, ast.Starred,
)  # fmt: skip


def _counts(node: ast.Call) -> list[ast.expr]:
    """The number of keys of a `split`."""
    return [*node.args[1:2], *(each.value for each in node.keywords if each.arg != "key")]


@dataclass(frozen=True, eq=False)
class Variation:
    """How expressions at one place vary over the iterations of the loops around it, the outermost first."""

    home: Home
    loops: Sequence[Repeat]

    def of(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> Varies:
        """Return how the value of an expression differs from layer to layer."""
        match node:
            case ast.Constant():
                return Varies.SAME
            case ast.Name():
                return self._of_name(node, seen)
            case ast.Attribute(value=value):
                same = self.of(value, seen) is Varies.SAME and not self._is_stored(node)
                return Varies.SAME if same else Varies.OTHER
            case ast.Subscript(value=value, slice=index):
                worst = self._worst((value, index), seen)
                own = self.of(value, seen) is Varies.KEY or (self.holds_keys(value) and worst is not Varies.SAME)
                return Varies.KEY if own else Varies.SAME if worst is Varies.SAME else Varies.OTHER
            case ast.Call():
                return self._of_call(node, seen)
            case ast.ListComp(elt=part, generators=levels) | ast.GeneratorExp(elt=part, generators=levels):
                return self._worst((part, *(one for each in levels for one in (each.iter, *each.ifs))), seen)
            case _ if isinstance(node, _PARTS):
                return self._worst([each for each in children(node) if isinstance(each, ast.expr)], seen)
            case _:
                return Varies.OTHER

    def _worst(self, nodes: Sequence[ast.expr], seen: frozenset[str]) -> Varies:
        return max((self.of(each, seen) for each in nodes), default=Varies.SAME)

    def _of_call(self, node: ast.Call, seen: frozenset[str]) -> Varies:
        given = [value for _, value in given_in(node)]
        worst, name, builtin = self._worst(given, seen), self.home.library(node), self.home.builtin(node)
        if builtin == "next":
            return Varies.KEY if len(given) == 1 and self.holds_keys(given[0]) else Varies.OTHER
        if builtin is not None:
            return worst if builtin in _PLAIN and worst is not Varies.KEY else Varies.OTHER
        if name == _SPLIT and self._worst(_counts(node), seen) > Varies.KEY:
            return Varies.OTHER  # other numbers of keys
        if name in _KEYS:
            return min(worst, Varies.KEY)
        return worst if name.startswith(_ARRAYS) or self.makes_module(node) else Varies.OTHER

    def makes_module(self, node: ast.expr) -> bool:
        """True if a call makes a module of a class that is shown."""
        meaning = self.home.meaning(node.func) if isinstance(node, ast.Call) else None
        return isinstance(meaning, Definition | External) and self.home.project.classes.is_module(meaning)

    def _of_name(self, node: ast.Name, seen: frozenset[str]) -> Varies:
        body = self.home.function.body if self.home.function is not None else ()
        stores = (each for each in nodes_in(*body) if isinstance(each, ast.Nonlocal))
        if node.id in seen or any(node.id in each.names for each in stores):
            return Varies.OTHER
        for loop in reversed(self.loops):
            if not isinstance(loop, ast.While) and node.id in target_names(loop.target):
                return self._of_target(loop, node.id)
            if not isinstance(loop, ast.comprehension) and (bound := assignments(loop.body, node.id)):
                return self._of_assigned(node, bound, seen | {node.id})
        changed = node.id in self.home.module.rebound or any(self._changes(each, node.id) for each in self._inside())
        return Varies.OTHER if changed else Varies.SAME

    def _inside(self) -> list[ast.AST]:
        """All nodes in the bodies of the loops, and in the conditions of comprehensions."""
        return nodes_in(*(each for loop in self.loops for each in getattr(loop, "body", getattr(loop, "ifs", ()))))

    def _changes(self, node: ast.AST, name: str) -> bool:
        """True if a node may change the object of a name: a store, a method, or a function of the project."""
        if isinstance(node, ast.Attribute | ast.Subscript):
            return root(node) == name and not isinstance(node.ctx, ast.Load)
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and root(node.func) == name:
            return True
        passed = any(isinstance(value, ast.Name) and value.id == name for _, value in given_in(node))
        known = self.home.library(node) or self.home.builtin(node) or self.makes_module(node)
        return passed and not known

    def _of_target(self, loop: ast.For | ast.comprehension, name: str) -> Varies:
        for target, source in columns(self.home, loop.target, loop.iter):
            if name in target_names(target):
                return Varies.INDEX if source is None else Varies.KEY if self.holds_keys(source) else Varies.OTHER
        return Varies.OTHER

    def _of_assigned(self, node: ast.Name, bound: Sequence[ast.AST], seen: frozenset[str]) -> Varies:
        """A name that the body of a loop assigns: before it is read, or else for the next layer."""
        worst = Varies.SAME
        for statement in bound:
            around = list(ancestors(self.home.module, statement))
            value = assigned(statement, node.id)
            if value is None and isinstance(statement, ast.Assign):  # `key, inner = split(key)`
                keys = self.is_key(statement.value) or self.of(statement.value, seen) is Varies.KEY
                value = statement.value if keys else None
            grows = isinstance(value, ast.List | ast.Dict)
            if value is None or grows or any(isinstance(each, ast.Match | ast.Try) for each in around):
                return Varies.OTHER
            tests = [each.test for each in around if isinstance(each, ast.If)]
            worst = max(worst, self._worst([value, *tests], seen))
            if self.home.library(value) in _KEYS:
                worst = max(worst, Varies.KEY)
        before = all(getattr(each, "end_lineno", 0) < node.lineno for each in bound)
        return worst if before or worst is Varies.KEY else Varies.OTHER

    def takes_few_values(self, node: ast.expr) -> bool:
        """True if an expression has one of a few values in each layer: `64 if i == 0 else 128`, `i % 2`."""
        few = self.takes_few_values
        match node:
            case _ if self.of(node) is Varies.SAME:
                return True
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.BinOp(op=ast.Mod()):
                return True
            case ast.IfExp(body=body, orelse=orelse):
                return few(body) and few(orelse)
            case ast.Subscript(value=value, slice=index):
                return self.of(value) is Varies.SAME and few(index)
            case ast.BinOp() | ast.UnaryOp() | ast.Tuple() | ast.List():
                return all(few(each) for each in children(node) if isinstance(each, ast.expr))
            case _:
                return False

    def _is_stored(self, node: ast.Attribute) -> bool:
        """True if the body of one of the loops stores into an attribute of that name."""
        stores = (
            each for each in self._inside() if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
        )
        return any(each.attr == node.attr for each in stores)

    def holds_keys(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """True if an expression is shown, or called, several random keys, or one."""
        called = isinstance(node, ast.Name) and node.id.endswith("keys") and not self.home.values_of(node.id)
        return called or self.is_key(node, seen)

    def is_key(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """True if an expression is shown, or called, a random key, or several: `split(key, n)`, names of it, a part."""
        match node:
            case ast.Call(func=func, args=args):
                copies = self.home.builtin(node) in (*COPIES, "next") and len(args) == 1
                reshaped = isinstance(func, ast.Attribute) and func.attr == "reshape"
                same = args[0] if copies else func.value if reshaped else None  # type: ignore[attr-defined]
                return self.home.library(node) in _KEYS or (same is not None and self.holds_keys(same, seen))
            case ast.Subscript(value=value):
                return self.holds_keys(value, seen)
            case ast.Name(id=name) if name not in seen:
                loops = (each for each in self.loops if not isinstance(each, ast.While))
                if any(name in target_names(each.target) for each in loops):
                    return self.of(node) is Varies.KEY
                bound = self.home.values_of(name)
                values = [value or getattr(statement, "value", None) for statement, value in bound]
                keys = [isinstance(each, ast.expr) and self.is_key(each, seen | {name}) for each in values]
                return all(keys) if keys else name.endswith(("key", "rng"))
            case _:
                return False


def plain_count(home: Home, loops: Sequence[Repeat]) -> str | None:
    """Return the number of iterations of one loop as text: `n`, `12`, `len(keys)`; None if it is not plain."""
    loop = loops[0] if len(loops) == 1 else None
    if not isinstance(loop, ast.For | ast.comprehension) or home.builtin(loop.iter) == "zip":
        return None
    for _, source in columns(home, loop.target, loop.iter):
        if source is not None:
            return split_count(home, source) or (f"len({source.id})" if isinstance(source, ast.Name) else None)
    walked = next((each for each in nodes_in(loop.iter) if home.builtin(each) == "range"), None)
    if isinstance(walked, ast.Call) and len(walked.args) == 1:
        return home.module.code(walked.args[0])
    return None


def split_count(home: Home, node: ast.expr) -> str | None:
    """Return `n` of `split(key, n)` as text."""
    if not isinstance(node, ast.Call) or home.library(node) != _SPLIT:
        return None
    counts = [*node.args[1:2], *(each.value for each in node.keywords if each.arg == "num")]
    return home.module.code(counts[0]) if len(counts) == 1 and not isinstance(counts[0], ast.Tuple) else None
