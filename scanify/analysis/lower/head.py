"""Read the head of a loop: its iterables, their order, and the value of each target."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from scanify.analysis.index.module import Module
from scanify.analysis.lower.loop import Index, Order, Problem, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Scope
from scanify.analysis.lower.text import called, code, container_text, made, only_argument

_STEPS = ("zip", "enumerate")
_COPIES = ("list", "tuple", "iter")  # directly in the head, `iter(layers)` is equivalent to `layers`
_THROUGH = (*_COPIES, "reversed")
_GIVE_ELEMENTS = frozenset((*_THROUGH, "filter", "map", "set", "frozenset", "sorted", "zip", "enumerate"))
_VIEWS = ("values", "items", "keys")
_WALK_LIST = "walk the list itself: `for layer in self.layers`"


@dataclass(frozen=True, eq=False)
class Head:
    """The walks of a head, its counter if any, and the problem if it is not understood."""

    walks: tuple[Walk, ...]
    index: Index | None = None
    problem: Problem | None = None


class HeadReader:
    """Reads the heads of loops in one scope, where names such as `zip` are builtins unless bound."""

    def __init__(self, module: Module, scope: Scope) -> None:
        self.module, self.scope = module, scope

    def builtin(self, node: ast.AST | None) -> str | None:
        """Return the name of the builtin that a call calls; None for any other node."""
        return self.scope.builtin(node)

    def calls_builtins(self, node: ast.expr) -> bool:
        """True if an expression calls only builtins: a file may define its own `len`."""
        return all(self.builtin(each) is not None for each in nodes_in(node) if isinstance(each, ast.Call))

    def text(self, node: ast.expr) -> str:
        """Return the text of an expression as part of another, with parentheses added to a bare tuple."""
        text = code(self.module, node)
        bare = isinstance(node, ast.Tuple) and node.elts and self.module.span(node.elts[0]).start
        return f"({text})" if bare and bare == self.module.span(node).start else text

    def read(self, target: ast.expr, walked: ast.expr) -> Head:
        if self.builtin(walked) == "range":
            return Head((), Index(target, self.numbers_text(walked), numbers=walked))
        if not isinstance(walked, ast.Call) or self.builtin(walked) not in _STEPS:
            return self._named(target, walked) or Head((self.walk(target, walked),))
        try:
            parts = list(self._parts(target, walked, cut=False))
        except _NotRead as problem:
            walks = list(self._unread(target, walked))
            return Head(tuple(walks), problem=Problem("SCN213", str(problem), walked, _WALK_LIST))
        walks = [each for each in parts if isinstance(each, Walk)]
        counters = [each for each in parts if isinstance(each, Index)]
        if len(counters) > 1:
            return Head(tuple(walks), problem=Problem("SCN213", "the loop has two counters", walked))
        numbers = [each for each in walks if self._counts(each.source)]
        if not counters and len(numbers) == 1 and isinstance(numbers[0].target, ast.Name) and len(walks) > 1:
            walks.remove(numbers[0])
            source = numbers[0].source
            counters = [Index(numbers[0].target, self.numbers_text(source), numbers=source)]
        return Head(tuple(walks), counters[0] if counters else None)

    def _parts(self, target: ast.expr, call: ast.Call, cut: bool) -> Iterator[Walk | Index]:
        """Yield the walks and counters of a `zip` or an `enumerate`, including nested ones."""
        targets = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        name, sources = self.builtin(call), call.args
        if name == "enumerate":
            if len(targets) != 2 or not sources:
                raise _NotRead("the target of `enumerate` is not a pair")
            start = [*sources[1:], *(each.value for each in call.keywords if each.arg == "start")]
            yield Index(targets[0], "", first=start[0] if start else None)
            targets, sources = targets[1:], sources[:1]
        elif len(targets) != len(sources):
            raise _NotRead("the targets do not match the arguments of `zip`")
        else:
            cut = (cut or not call.keywords) and len(sources) > 1  # `strict=...`
        if any(isinstance(each, ast.Starred) for each in (*targets, *sources)):
            raise _NotRead(f"`{name}` has a starred argument or target")
        for each, source in zip(targets, sources, strict=True):
            inside = isinstance(each, ast.Tuple | ast.List) and self.builtin(source) in _STEPS
            if inside and isinstance(source, ast.Call):
                yield from self._parts(each, source, cut)
            elif _viewed(source, "items") is not None:
                raise _NotRead("the loop iterates over `items()` alongside something else")
            else:
                yield self.walk(each, source, cut)

    def _counts(self, source: ast.expr) -> bool:
        """True for `range(n)` and `reversed(range(n))`, which may be the counter of the loop."""
        if self.builtin(source) == "reversed" and isinstance(source, ast.Call):
            return self.builtin(only_argument(source)) == "range"
        return self.builtin(source) == "range"

    def numbers_text(self, numbers: ast.expr, otherwise: str = "") -> str:
        """Return the numbers as the text of a sequence: `reversed(range(n))` can be iterated over only once."""
        if self.builtin(numbers) == "reversed" and isinstance(numbers, ast.Call) and (inner := only_argument(numbers)):
            return f"{self.text(inner)}[::-1]"
        return otherwise or self.text(numbers)

    def _named(self, target: ast.expr, walked: ast.expr) -> Head | None:
        """Read `for name, layer in blocks.items()` as `for name, layer in zip(list(blocks), blocks.values())`."""
        source = _viewed(walked, "items")
        if source is None or not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != 2:
            return None
        if any(isinstance(each, ast.Starred) for each in target.elts) or self.scope.binding("list") is not None:
            return None
        names = made(ast.Call(made(ast.Name("list", ast.Load()), walked), [source], []), walked)
        values = made(ast.Call(made(ast.Attribute(source, "values", ast.Load()), walked), [], []), walked)
        layers = self.walk(target.elts[1], values)
        if not isinstance(target.elts[0], ast.Name):
            return Head((layers, self.walk(target.elts[0], names)))
        return Head((layers,), Index(target.elts[0], self.text(names), numbers=names))

    # -- one walk ------------------------------------------------------------------------------------------------

    def walk(self, target: ast.expr, source: ast.expr, cut: bool = False) -> Walk:
        """Return how a target iterates over a source; `cut` in a `zip` that ends with the shortest."""
        text = self.text(source)
        walk = Walk(target, source, source, text, text, text, cut=cut)
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
        return next(self._unread(target, source), walk)

    def _unread(self, target: ast.expr, source: ast.expr) -> Iterator[Walk]:
        """Yield the containers whose elements an expression may yield in an unknown order: `sorted(layers)`."""
        text = self.text(source)
        via = (called(source) or "").rpartition(".")[2]
        for part in self._containers(source) if container_text(source) is None else ():
            viewed = _viewed(part, "items") or _viewed(part, "values")
            how = "values" if viewed is not None else via
            yield Walk(target, source, viewed or part, text, text, text, Order.OTHER, how)

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
        """Return the walk of a copied or reversed list: `list(layers[1:])`, `reversed(layers)`."""
        below = self.walk(walk.target, inner, walk.cut)
        known = below.order is not Order.OTHER
        via = below.via if below.via == "values" or (known and name in _COPIES and below.via) else name
        if name == "reversed":
            part = Order.SLICE if known else Order.OTHER
            order = Order.REVERSED if below.order is Order.WHOLE else part
            beside = f"list({walk.text})"
            return replace(below, source=walk.source, text=walk.text, beside=beside, order=order, via=via)
        plain = below.order is Order.WHOLE and len(below.bases) == 1
        text = self.text(inner) if plain else walk.text  # a copy of a list is unneeded, one of a view is not
        beside = walk.text if name != "iter" else f"list({self.text(inner)})"
        return replace(below, source=walk.source, text=text, beside=beside, via=via)

    def _sliced(self, walk: Walk, source: ast.Subscript, part: ast.Slice) -> Walk:
        below = self.walk(walk.target, source.value, walk.cut)
        backwards = part.lower is part.upper is None and part.step is not None and ast.unparse(part.step) == "-1"
        order = Order.REVERSED if backwards and below.order is Order.WHOLE else Order.SLICE
        if below.order is Order.OTHER:
            return replace(walk, base=source.value, bases=(source.value,), order=Order.SLICE)
        return replace(walk, base=below.base, bases=below.bases, order=order, via=below.via)

    def bases(self, node: ast.expr) -> Iterator[ast.expr]:
        """Yield the lists of a concatenation: `enc + dec`, `[*enc, *dec]`, `itertools.chain(enc, dec)`."""
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
    """Raised for a head that is not understood; the message says why."""


def _viewed(node: ast.AST, view: str) -> ast.expr | None:
    """Return `blocks` for `blocks.values()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=source, attr=attr), args=[], keywords=[]) if attr == view:
            return source if view != "items" or container_text(source) is not None else None
        case _:
            return None
