"""The head of a loop: what it walks in step, in which order, and what each target is bound to."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from scanify.analysis.index.module import Module
from scanify.analysis.lower.loop import Index, Order, Problem, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Scope
from scanify.analysis.lower.text import called, code, container_text, made, only_argument

_COPIES = ("list", "tuple", "iter")  # `iter(layers)` in the head itself is as good as `layers`
_THROUGH = (*_COPIES, "reversed")
_GIVE_ELEMENTS = frozenset((*_THROUGH, "filter", "map", "set", "frozenset", "sorted", "zip", "enumerate"))
_VIEWS = ("values", "items", "keys")
_WALK_LIST = "walk the list itself: `for layer in self.layers`"


@dataclass(frozen=True, eq=False)
class Head:
    """The walks of a head, its counter if it has one, and why it is not understood, where it is not."""

    walks: tuple[Walk, ...]
    index: Index | None = None
    problem: Problem | None = None


@dataclass(frozen=True, eq=False)
class _Pair:
    """A target and what it walks; `cut` where that is an argument of a `zip` which ends with the shortest."""

    target: ast.expr
    source: ast.expr
    cut: bool = False


class HeadReader:
    """Reads the heads of loops in one scope, where `zip` and the like are Python's own."""

    def __init__(self, module: Module, scope: Scope) -> None:
        self.module, self.scope = module, scope

    def builtin(self, node: ast.AST | None) -> str | None:
        """The name of Python's own function that a call calls; None for all else."""
        return self.scope.builtin(node)

    def calls_builtins(self, node: ast.expr) -> bool:
        """Whether all that is called in an expression is Python's own: a file may have its own `len`."""
        return all(self.builtin(each) is not None for each in nodes_in(node) if isinstance(each, ast.Call))

    def text(self, node: ast.expr) -> str:
        """The text of an expression as a part of another: `(a, b)` for a tuple that stands without parentheses."""
        text = code(self.module, node)
        bare = isinstance(node, ast.Tuple) and node.elts and self.module.span(node.elts[0]).start
        return f"({text})" if bare and bare == self.module.span(node).start else text

    def read(self, target: ast.expr, walked: ast.expr) -> Head:
        name = self.builtin(walked)
        if isinstance(walked, ast.Call) and name in ("zip", "enumerate"):
            try:
                pairs, counters = self._columns(target, walked, cut=False)
            except _NotRead as problem:
                walks = tuple(self._unread(_Pair(target, walked)))
                return Head(walks, problem=Problem("SCN213", str(problem), walked, _WALK_LIST))
            return self._head(pairs, counters, walked)
        if name == "range":
            return Head((), Index(target, self.numbers_text(walked), numbers=walked))
        return self._named(target, walked) or Head((self.walk(_Pair(target, walked)),))

    # -- `zip` and `enumerate`, in each other ------------------------------------------------------------------------

    def _columns(self, target: ast.expr, call: ast.Call, cut: bool) -> tuple[list[_Pair], list[Index]]:
        """The pairs that a call walks, and the counters in it."""
        if self.builtin(call) == "enumerate":
            return self._enumerated(target, call, cut)
        if any(isinstance(each, ast.Starred) for each in call.args):
            raise _NotRead("`zip` is given a starred argument")
        if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != len(call.args):
            raise _NotRead("the targets do not match what `zip` walks")
        if any(isinstance(each, ast.Starred) for each in target.elts):
            raise _NotRead("a target of `zip` is starred")
        cut = (cut or not call.keywords) and len(call.args) > 1  # `strict=...`
        pairs: list[_Pair] = []
        counters: list[Index] = []
        for each, source in zip(target.elts, call.args, strict=True):
            inside, counted = self._column(each, source, cut)
            pairs += inside
            counters += counted
        return pairs, counters

    def _column(self, target: ast.expr, source: ast.expr, cut: bool) -> tuple[list[_Pair], list[Index]]:
        if isinstance(source, ast.Call) and self.builtin(source) in ("zip", "enumerate"):
            if not isinstance(target, ast.Tuple | ast.List):
                return [_Pair(target, source, cut)], []
            return self._columns(target, source, cut)
        if _viewed(source, "items") is not None:
            raise _NotRead("`items()` is walked beside something else")
        return [_Pair(target, source, cut)], []

    def _enumerated(self, target: ast.expr, call: ast.Call, cut: bool) -> tuple[list[_Pair], list[Index]]:
        if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != 2:
            raise _NotRead("the target of `enumerate` is not a pair")
        if not call.args or any(isinstance(each, ast.Starred) for each in (*call.args, *target.elts)):
            raise _NotRead("what `enumerate` walks is not shown")
        pairs, counters = self._column(target.elts[1], call.args[0], cut)
        first = next((each.value for each in call.keywords if each.arg == "start"), None)
        first = call.args[1] if len(call.args) > 1 else first
        return pairs, [*counters, Index(target.elts[0], "", first=first)]

    def _head(self, pairs: Sequence[_Pair], counters: Sequence[Index], walked: ast.expr) -> Head:
        numbers = [each for each in pairs if self._counts(each.source)]
        if len(counters) > 1:
            return Head(tuple(map(self.walk, pairs)), problem=Problem("SCN213", "the loop has two counters", walked))
        if counters or len(numbers) != 1 or not isinstance(numbers[0].target, ast.Name) or len(pairs) < 2:
            return Head(tuple(map(self.walk, pairs)), counters[0] if counters else None)
        index = Index(numbers[0].target, self.numbers_text(numbers[0].source), numbers=numbers[0].source)
        return Head(tuple(self.walk(each) for each in pairs if each is not numbers[0]), index)

    def _counts(self, source: ast.expr) -> bool:
        """`range(n)`, `reversed(range(n))`: the loop's counter, as far as it goes."""
        if self.builtin(source) == "reversed" and isinstance(source, ast.Call):
            return self.builtin(only_argument(source)) == "range"
        return self.builtin(source) == "range"

    def numbers_text(self, numbers: ast.expr, otherwise: str = "") -> str:
        """The numbers as a sequence: `reversed(range(n))` can be walked only once."""
        if self.builtin(numbers) == "reversed" and isinstance(numbers, ast.Call) and (inner := only_argument(numbers)):
            return f"{self.text(inner)}[::-1]"
        return otherwise or self.text(numbers)

    def _named(self, target: ast.expr, walked: ast.expr) -> Head | None:
        """`for name, layer in blocks.items()` as `for name, layer in zip(list(blocks), blocks.values())`."""
        source = _viewed(walked, "items")
        if source is None or not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != 2:
            return None
        if any(isinstance(each, ast.Starred) for each in target.elts) or self.scope.binding("list") is not None:
            return None
        names = made(ast.Call(made(ast.Name("list", ast.Load()), walked), [source], []), walked)
        values = made(ast.Call(made(ast.Attribute(source, "values", ast.Load()), walked), [], []), walked)
        layers = self.walk(_Pair(target.elts[1], values))
        if not isinstance(target.elts[0], ast.Name):
            return Head((layers, self.walk(_Pair(target.elts[0], names))))
        return Head((layers,), Index(target.elts[0], self.text(names), numbers=names))

    # -- one walk ------------------------------------------------------------------------------------------------

    def walk(self, pair: _Pair) -> Walk:
        """How one thing is walked."""
        source, text = pair.source, self.text(pair.source)
        walk = Walk(pair.target, source, source, text, text, text, cut=pair.cut)
        bases = tuple(self.bases(source))
        if len(bases) > 1:
            text = f"[{', '.join(f'*{self.text(each)}' for each in bases)}]"
            return replace(walk, bases=bases, text=text, beside=text, counted=text)
        name = self.builtin(source)
        if isinstance(source, ast.Call) and name in _THROUGH and (inner := only_argument(source)) is not None:
            return self._through(walk, inner, name)
        for view in _VIEWS:
            viewed = _viewed(source, view)
            if viewed is not None:
                order = Order.VALUES if view == "values" else Order.OTHER
                via = "keys" if view == "keys" else "values"
                beside = f"list({text})" if view == "values" else text
                counted = self.text(viewed)
                return replace(walk, base=viewed, bases=(viewed,), counted=counted, order=order, via=via, beside=beside)
        if isinstance(source, ast.Subscript) and isinstance(source.slice, ast.Slice):
            return self._sliced(walk, source, source.slice)
        return next(self._unread(pair), walk)

    def _unread(self, pair: _Pair) -> Iterator[Walk]:
        """The containers whose elements an expression may give in a way that is not followed: `sorted(layers)`."""
        text = self.text(pair.source)
        via = (called(pair.source) or "").rpartition(".")[2]
        for part in self._containers(pair.source) if container_text(pair.source) is None else ():
            viewed = _viewed(part, "items") or _viewed(part, "values")
            how = "values" if viewed is not None else via
            yield Walk(pair.target, pair.source, viewed or part, text, text, text, Order.OTHER, how)

    def _containers(self, node: ast.expr) -> Iterator[ast.expr]:
        match node:
            case ast.Name() | ast.Attribute():
                yield node
            case ast.Call(args=[holder, ast.Constant(value=str(name))]) if self.builtin(node) == "getattr":
                yield made(ast.Attribute(holder, name, ast.Load()), node)
            case ast.Call() if _viewed(node, "items") is not None or _viewed(node, "values") is not None:
                yield node
            case ast.Call(args=args):
                library = (self.scope.qualified(node.func) or "").startswith("itertools.")
                gives = args if library or self.builtin(node) in _GIVE_ELEMENTS else []
                yield from self._each(gives[1:] if self.builtin(node) in ("map", "filter") else gives)
            case ast.ListComp(ast.Name(), [first, *_]) | ast.GeneratorExp(ast.Name(), [first, *_]):
                yield from self._containers(first.iter)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                yield from self._each(each.value for each in parts if isinstance(each, ast.Starred))
            case ast.Starred(value=ast.Tuple(elts=parts) | ast.List(elts=parts)) | ast.BoolOp(values=parts):
                yield from self._each(parts)
            case ast.IfExp(body=body, orelse=orelse):
                yield from self._each([body, orelse])
            case ast.Starred(value=value) | ast.Subscript(value=value) | ast.NamedExpr(value=value):
                yield from self._containers(value)

    def _each(self, nodes: Iterable[ast.expr]) -> Iterator[ast.expr]:
        for node in nodes:
            yield from self._containers(node)

    def _through(self, walk: Walk, inner: ast.expr, name: str) -> Walk:
        """A walk of what a list is copied to, or of a list backwards: `list(layers[1:])`, `reversed(layers)`."""
        below = self.walk(_Pair(walk.target, inner, walk.cut))
        known = below.order is not Order.OTHER
        via = below.via if below.via == "values" or (known and name in _COPIES and below.via) else name
        if name == "reversed":
            part = Order.SLICE if known else Order.OTHER
            order = Order.REVERSED if below.order is Order.WHOLE else part
            beside = f"list({walk.text})"
            return replace(below, source=walk.source, text=walk.text, beside=beside, order=order, via=via)
        plain = below.order is Order.WHOLE and len(below.bases) == 1
        text = self.text(inner) if plain else walk.text  # a copy of the list serves nobody, of a view it does
        beside = walk.text if name != "iter" else f"list({self.text(inner)})"
        return replace(below, source=walk.source, text=text, beside=beside, via=via)

    def _sliced(self, walk: Walk, source: ast.Subscript, part: ast.Slice) -> Walk:
        below = self.walk(_Pair(walk.target, source.value, walk.cut))
        backwards = part.lower is part.upper is None and _is_minus_one(part.step)
        order = Order.REVERSED if backwards and below.order is Order.WHOLE else Order.SLICE
        if below.order is Order.OTHER:
            return replace(walk, base=source.value, bases=(source.value,), order=Order.SLICE)
        return replace(walk, base=below.base, bases=below.bases, order=order, via=below.via)

    def bases(self, node: ast.expr) -> Iterator[ast.expr]:
        """What is walked one after another: `enc + dec`, `[*enc, *dec]`, `itertools.chain(enc, dec)`."""
        match node:
            case ast.BinOp(op=ast.Add()):
                yield from self.bases(node.left)
                yield from self.bases(node.right)
            case ast.List(elts=elements) | ast.Tuple(elts=elements) if elements and all(
                isinstance(each, ast.Starred) for each in elements
            ):
                for each in elements:
                    assert isinstance(each, ast.Starred)
                    yield from self.bases(each.value)
            case ast.Call(keywords=[]) if self.scope.qualified(node.func) == "itertools.chain":
                for each in node.args:
                    yield from self.bases(each)
            case ast.Call() if self.builtin(node) in _COPIES and (inner := only_argument(node)) is not None:
                yield from self.bases(inner)
            case _:
                yield node


class _NotRead(Exception):
    """A head that is not understood; its text says why."""


def _is_minus_one(node: ast.expr | None) -> bool:
    return node is not None and ast.unparse(node) == "-1"


def _viewed(node: ast.AST, view: str) -> ast.expr | None:
    """`blocks` of `blocks.values()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=source, attr=attr), args=[], keywords=[]) if attr == view:
            return source if view != "items" or container_text(source) is not None else None
        case _:
            return None
