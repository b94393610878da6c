"""How the argument of a constructor varies from layer to layer, given the loops that make the layers."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.statements import assignments, value_given
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.home import COPIES, Home, Repeat, columns, given_in
from scanify.analysis.lists.layer_list import Varies
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.text import root

_KEYS = frozenset(f"jax.random.{name}" for name in ("split", "fold_in", "key", "PRNGKey", "clone", "wrap_key_data"))
_SPLIT = "jax.random.split"
_PLAIN = frozenset("len min max int float abs sum round bool str tuple list divmod pow range".split())
_ARRAYS = ("jax.numpy.", "jax.random.", "jax.nn.", "jax.lax.", "math.")
_LISTED = (
    ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List, ast.Dict, ast.JoinedStr, ast.FormattedValue, ast.Slice, ast.Starred,
)  # fmt: skip


def _parts(node: ast.expr) -> list[ast.expr]:
    return [each for each in children(node) if isinstance(each, ast.expr)]


def _counts(node: ast.Call) -> list[ast.expr]:
    """Return the arguments of `split` that set the number of keys."""
    return [*node.args[1:2], *(each.value for each in node.keywords if each.arg != "key")]


@dataclass(frozen=True, eq=False)
class Variation:
    """How expressions at one place vary over the iterations of the loops around it, outermost first."""

    home: Home
    loops: Sequence[Repeat]

    def of(self, node: ast.expr) -> Varies:
        """Return how the value of an expression varies from layer to layer."""
        match node:
            case ast.Constant():
                return Varies.SAME
            case ast.Name():
                return self._of_name(node)
            case ast.Attribute(value=value):
                return Varies.SAME if self.of(value) is Varies.SAME else Varies.OTHER
            case ast.Subscript(value=value, slice=index):
                worst = self._worst((value, index))
                own = self.of(value) is Varies.KEY or (self.holds_keys(value) and worst is not Varies.SAME)
                return Varies.KEY if own else worst
            case ast.Compare() | ast.BoolOp() | ast.BinOp(op=ast.Mod()) | ast.UnaryOp(op=ast.Not()):
                return min(Varies.FEW, self._worst(_parts(node)))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return max(min(Varies.FEW, self.of(test)), self._worst((body, orelse)))
            case ast.Call():
                return self._of_call(node)
            case ast.ListComp(elt=part, generators=levels) | ast.GeneratorExp(elt=part, generators=levels):
                return self._worst((part, *(one for each in levels for one in (each.iter, *each.ifs))))
            case _ if isinstance(node, _LISTED):
                return self._worst(_parts(node))
            case _:
                return Varies.OTHER

    def _worst(self, nodes: Sequence[ast.expr]) -> Varies:
        return max((self.of(each) for each in nodes), default=Varies.SAME)

    def _of_call(self, node: ast.Call) -> Varies:
        given = [value for _, value in given_in(node)]
        worst, name, builtin = self._worst(given), self.home.library(node), self.home.builtin(node)
        if builtin == "next":
            return Varies.KEY if len(given) == 1 and self.holds_keys(given[0]) else Varies.OTHER
        if builtin is not None:
            return worst if builtin in _PLAIN and worst is not Varies.KEY else Varies.OTHER
        if name == _SPLIT and self._worst(_counts(node)) > Varies.KEY:
            return Varies.OTHER  # the number of keys varies
        if name in _KEYS:
            return min(worst, Varies.KEY)
        return worst if name.startswith(_ARRAYS) or self.makes_module(node) else Varies.OTHER

    def makes_module(self, node: ast.expr) -> bool:
        """True if a call instantiates a known module class."""
        meaning = self.home.meaning(node.func) if isinstance(node, ast.Call) else None
        return isinstance(meaning, Definition | External) and self.home.project.classes.is_module(meaning)

    def _of_name(self, node: ast.Name) -> Varies:
        for loop in reversed(self.loops):
            if not isinstance(loop, ast.While) and node.id in target_names(loop.target):
                return self._of_target(loop, node.id)
            if not isinstance(loop, ast.comprehension) and (bound := assignments(loop.body, node.id)):
                return self._of_assigned(node, bound, loop.body)
        function = self.home.function.body if self.home.function is not None else ()
        rebound = any(isinstance(each, ast.Nonlocal) and node.id in each.names for each in nodes_in(*function))
        bodies = (each for loop in self.loops for each in getattr(loop, "body", getattr(loop, "ifs", ())))
        changed = rebound or any(self._changes(each, node.id) for each in nodes_in(*bodies))
        return Varies.OTHER if changed or node.id in self.home.module.rebound else Varies.SAME

    def _changes(self, node: ast.AST, name: str) -> bool:
        """True if a node may change the object under a name: a store, a method call, or a call of project code."""
        if isinstance(node, ast.Attribute | ast.Subscript):
            return root(node) == name and not isinstance(node.ctx, ast.Load)
        if not isinstance(node, ast.Call):
            return False
        passed = any(isinstance(value, ast.Name) and value.id == name for _, value in given_in(node))
        known = self.home.library(node) or self.home.builtin(node) or self.makes_module(node)
        return (passed and not known) or (isinstance(node.func, ast.Attribute) and root(node.func) == name)

    def _of_target(self, loop: ast.For | ast.comprehension, name: str) -> Varies:
        sources = [
            source for target, source in columns(self.home, loop.target, loop.iter) if name in target_names(target)
        ]
        return Varies.KEY if any(each is not None and self.holds_keys(each) for each in sources) else Varies.OTHER

    def _of_assigned(self, node: ast.Name, bound: Sequence[ast.AST], body: Sequence[ast.stmt]) -> Varies:
        """Return the variation of a name that a loop assigns: known for keys, or if assigned once before the read."""
        value = next(iter(value_given(bound[0], node.id)), None)
        if self.is_key(node):
            return Varies.KEY
        once = len(bound) == 1 and bound[0] in body and getattr(bound[0], "lineno", node.lineno) < node.lineno
        if value is None or not once or isinstance(value, ast.List | ast.Dict):
            return Varies.OTHER
        return max(Varies.KEY, self.of(value))

    def holds_keys(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """True if an expression is one or more random keys, by its value or by its name."""
        called = isinstance(node, ast.Name) and node.id.endswith("keys") and not self.home.values_of(node.id)
        return called or self.is_key(node, seen)

    def is_key(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """True if an expression is a random key, by value or by name: `split(key, n)`, a name for it, or a part."""
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
    """Return the number of iterations of a single loop as text: `n`, `12`, `len(keys)`; None if it is not plain."""
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
