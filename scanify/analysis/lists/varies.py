"""How an argument of a constructor differs from layer to layer, by the loops that make the layers."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.statements import assignments
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.home import COPIES, Home, Repeat, assigned, columns
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
                found = self.of(value, seen)
                own = found is Varies.SAME and not self._is_stored(node)
                return Varies.SAME if own else Varies.OTHER
            case ast.Subscript(value=value, slice=index):
                return self._of_element(value, index, seen)
            case ast.Call():
                return self._of_call(node, seen)
            case ast.ListComp(elt=part, generators=levels) | ast.GeneratorExp(elt=part, generators=levels):
                inside = [part, *(one for each in levels for one in (each.iter, *each.ifs))]
                return max(self.of(each, seen) for each in inside)
            case _ if isinstance(node, _PARTS):
                return max(
                    (self.of(each, seen) for each in children(node) if isinstance(each, ast.expr)), default=Varies.SAME
                )
            case _:
                return Varies.OTHER

    def _of_element(self, value: ast.expr, index: ast.expr, seen: frozenset[str]) -> Varies:
        at = self.of(index, seen)
        if self.are_keys(value) or self.of(value, seen) is Varies.KEY:
            return Varies.KEY if at is not Varies.SAME or self.of(value, seen) is Varies.KEY else Varies.SAME
        return Varies.SAME if max(at, self.of(value, seen)) is Varies.SAME else Varies.OTHER

    def _of_call(self, node: ast.Call, seen: frozenset[str]) -> Varies:
        worst = max(
            (self.of(each, seen) for each in (*node.args, *(part.value for part in node.keywords))),
            default=Varies.SAME,
        )
        name, builtin = self.home.library(node), self.home.builtin(node)
        if builtin == "next":
            keys = len(node.args) == 1 and self.are_keys(node.args[0])
            return Varies.KEY if keys else Varies.OTHER
        if builtin is not None:
            return worst if builtin in _PLAIN and worst is not Varies.KEY else Varies.OTHER
        if name == _SPLIT and any(self.of(each, seen) > Varies.KEY for each in _counts(node)):
            return Varies.OTHER  # other numbers of keys
        if name in _KEYS:
            return Varies.SAME if worst is Varies.SAME else Varies.KEY
        if name.startswith(_ARRAYS) or self.makes_module(node):
            return worst
        return Varies.OTHER

    def makes_module(self, node: ast.expr) -> bool:
        """True if a call makes a module of a class that is shown."""
        meaning = self.home.meaning(node.func) if isinstance(node, ast.Call) else None
        return isinstance(meaning, Definition | External) and self.home.project.classes.is_module(meaning)

    def _of_name(self, node: ast.Name, seen: frozenset[str]) -> Varies:
        inner = self.home.function.body if self.home.function is not None else ()
        if node.id in seen or any(
            isinstance(each, ast.Nonlocal) and node.id in each.names for each in nodes_in(*inner)
        ):
            return Varies.OTHER
        for loop in reversed(self.loops):
            if not isinstance(loop, ast.While) and node.id in target_names(loop.target):
                return self._of_target(loop, node.id)
            if not isinstance(loop, ast.comprehension) and (bound := assignments(loop.body, node.id)):
                return self._of_assigned(node, bound, seen | {node.id})
        changed = node.id in self.home.module.rebound or self._is_changed(node.id)
        return Varies.OTHER if changed else Varies.SAME

    def _is_changed(self, name: str) -> bool:
        """True if a loop may change the object of a name: by a store, a method, or a function of the project."""
        for loop in self.loops:
            inside = loop.ifs if isinstance(loop, ast.comprehension) else loop.body
            for each in nodes_in(*inside):
                held = isinstance(each, ast.Attribute | ast.Subscript) and root(each) == name
                if held and not isinstance(getattr(each, "ctx", None), ast.Load):
                    return True
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and root(each.func) == name:
                    return True
                passed = [*each.args, *(part.value for part in each.keywords)] if isinstance(each, ast.Call) else []
                if not isinstance(each, ast.Call) or name not in {getattr(part, "id", None) for part in passed}:
                    continue
                if not (self.home.library(each) or self.home.builtin(each) or self.makes_module(each)):
                    return True
        return False

    def _of_target(self, loop: ast.For | ast.comprehension, name: str) -> Varies:
        for target, source in columns(self.home, loop.target, loop.iter):
            if name in target_names(target):
                if source is None:
                    return Varies.INDEX
                return Varies.KEY if self.are_keys(source) else Varies.OTHER
        return Varies.OTHER

    def _of_assigned(self, node: ast.Name, bound: Sequence[ast.AST], seen: frozenset[str]) -> Varies:
        """A name that the body of a loop assigns: before it is read, or else for the next layer."""
        worst = Varies.SAME
        for statement in bound:
            for around in ancestors(self.home.module, statement):
                if isinstance(around, ast.Match | ast.Try):
                    return Varies.OTHER
                worst = max(worst, self.of(around.test, seen) if isinstance(around, ast.If) else worst)
            value = assigned(statement, node.id)
            if value is None and isinstance(statement, ast.Assign):  # `key, inner = split(key)`
                made_of = statement.value
                value = made_of if self.are_keys(made_of) or self.of(made_of, seen) is Varies.KEY else None
            if value is None or isinstance(value, ast.List | ast.Dict):  # which may grow
                return Varies.OTHER
            worst = max(worst, self.of(value, seen))
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
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.BinOp(op=ast.Mod(), right=ast.Constant()):
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
        bodies = [each for loop in self.loops if not isinstance(loop, ast.comprehension) for each in loop.body]
        return any(
            isinstance(each, ast.Attribute) and each.attr == node.attr and isinstance(each.ctx, ast.Store)
            for each in nodes_in(*bodies)
        )

    def are_keys(self, node: ast.expr) -> bool:
        """True if an expression is shown to be several random keys: `split(key, n)`, and names and slices of it."""
        return self._axes(node) > 1

    def is_key(self, node: ast.expr) -> bool:
        """True if an expression is shown, or called, a random key."""
        return self._axes(node) == 1 or (isinstance(node, ast.Name) and self.of(node) is Varies.KEY)

    def _axes(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> int:
        """One more than the number of axes of random keys: 1 for a key, 2 for a row of keys; 0 for no keys."""
        match node:
            case ast.Call(func=func, args=args):
                name, inner = self.home.builtin(node), args[0] if len(args) == 1 else None
                if self.home.library(node) == _SPLIT:
                    return 2 + any(isinstance(each, ast.Tuple) for each in _counts(node))
                if self.home.library(node) in _KEYS:
                    return 1
                if isinstance(func, ast.Attribute) and func.attr == "reshape":
                    return self._axes(func.value, seen)
                found = self._axes(inner, seen) if inner is not None and name in (*COPIES, "next") else 0
                return max(found - (name == "next"), 0)
            case ast.Subscript(value=value, slice=index):
                return max(self._axes(value, seen) - (not isinstance(index, ast.Slice)), 0)
            case ast.Name(id=name) if name not in seen:
                values = self.home.values_of(name)
                if not values:
                    return 2 if name.endswith("keys") else 1 if name.endswith(("key", "rng")) else 0
                return min(self._axes_bound(statement, name, seen | {name}) for statement, _ in values)
            case _:
                return 0

    def _axes_bound(self, statement: ast.AST, name: str, seen: frozenset[str]) -> int:
        """The same of a name that a statement binds: `key, *keys = split(key, n)`."""
        value = assigned(statement, name)
        if value is not None:
            return self._axes(value, seen)
        if not isinstance(statement, ast.Assign):
            return 0
        targets = [each for target in statement.targets for each in getattr(target, "elts", ())]
        starred = any(isinstance(each, ast.Starred) and ast.unparse(each.value) == name for each in targets)
        return max(self._axes(statement.value, seen) - (not starred), 0)


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
