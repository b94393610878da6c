"""Find whether a loop body multiplies the carry with parts of an element, as a layer does.

It also finds iteration over a dict of the element, whose keys a scan returns sorted. Names are followed into called
functions of the project; nothing is run. Norms and losses added to a carry are not products; nor is a training step,
which takes gradients.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from scanify.analysis.flow.names import target_names
from scanify.analysis.index.module import Module
from scanify.analysis.index.project import Index
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import by_kind, children, nodes_in
from scanify.analysis.lower.scope import parameters
from scanify.analysis.lower.text import dotted
from scanify.analysis.remarks.view import bindings
from scanify.analysis.watchers.names import Body, callee

# Sources of a value: the element, the carry, an element zipped with it. NAMES: it may be a key of a dict.
ELEMENT, CARRY, BESIDE, NAMES = 1, 2, 4, 8
_SCANNED = ELEMENT | CARRY | BESIDE
_DEEPEST = 6
_PRODUCTS = (ast.MatMult, ast.Mult, ast.Div)
_CONTRACTIONS = frozenset(
    "dot matmul einsum tensordot vdot inner outer dot_general multiply conv conv_general_dilated conv_transpose "
    "conv_with_general_padding convolve".split()
)
_STEPS = frozenset("grad value_and_grad apply_updates jacfwd jacrev jacobian hessian filter_grad".split())
_OF_SHAPES = frozenset("shape ndim size dtype".split())
_NO_VALUES = frozenset("len range isinstance print zeros ones full empty eye arange linspace".split())
_OF_DICTS = frozenset("items keys values".split())
_OF_ARRAYS = _OF_DICTS | frozenset(
    "astype reshape transpose dot sum mean get at conj copy squeeze ravel swapaxes _asdict".split()
)
_LISTING = frozenset("list tuple iter".split())
_RANDOM = re.compile(r"(^|\.)(random|jr)\.")


@dataclass(frozen=True)
class Use:
    """Operations of one iteration. `multiplies`: it multiplies a carry with a part of the element, without gradients.

    `walked` is the first iteration over a dict that the element is or holds, with its file.
    """

    multiplies: bool
    walked: tuple[Module, ast.AST] | None = None


def use_of(index: Index, loop: Loop, walk: Walk, carry: Sequence[str]) -> Use:
    """Return the operations of one iteration on the element."""
    elements = target_names(walk.target)
    for call in (each for each in nodes_in(*loop.body) if isinstance(each, ast.Call)):
        match call.func:  # the element is called, or is an object that is not a tree of arrays
            case ast.Name(id=name) if name in loop.targets:
                return Use(False)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in elements and attr not in _OF_ARRAYS:
                return Use(False)
    beside = [name for other in loop.walks for name in target_names(other.target)]
    flags = {**dict.fromkeys(beside, BESIDE), **dict.fromkeys(carry, CARRY), **dict.fromkeys(elements, ELEMENT)}
    reader = _Reader(index)
    for statement in loop.body:
        reader.visit(_At(loop.module, flags, 0), statement)
    return Use(reader.multiplies and not reader.steps, reader.walked)


@dataclass(frozen=True)
class _At:
    """Position in the code: the file, the sources of each name, and the depth of calls."""

    module: Module
    flags: dict[str, int]
    depth: int


class _Reader:
    """Follows names through code, branch after branch; its attributes hold the findings."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.multiplies = self.steps = False
        self.walked: tuple[Module, ast.AST] | None = None
        self._entered: set[tuple[ast.AST, tuple[tuple[str, int], ...]]] = set()

    def visit(self, at: _At, node: ast.AST) -> int:
        """Return the sources of a value, and bind the names that code binds."""
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                return 0
            case ast.Name(id=name):
                return at.flags.get(name, 0)
            case ast.Attribute(attr=attr) if attr in _OF_SHAPES:
                return 0
            case ast.Assign(targets=targets, value=value):
                return self._bind(at, targets, self.visit(at, value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self._bind(at, [target], self.visit(at, value))
            case ast.BinOp(left=left, op=op, right=right) | ast.AugAssign(target=left, op=op, value=right):
                sides = [self.visit(at, left), self.visit(at, right)]
                self._note_product(sides if isinstance(op, _PRODUCTS) else [])
                return self._bind(at, [left] if isinstance(node, ast.AugAssign) else [], sides[0] | sides[1])
            case ast.For(target=target, iter=walked) | ast.comprehension(target=target, iter=walked):
                element = self.visit(at, walked)
                named = isinstance(target, ast.Name) and element & _SCANNED
                self._bind(at, [target], element | (NAMES if named else 0))
                return self._all(at, getattr(node, "body", []))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                self._all(at, node.generators)
                return self._all(at, [each for each in children(node) if each not in node.generators])
            case ast.Subscript(value=whole, slice=place):
                taken, by = self.visit(at, whole), self.visit(at, place)
                self._note_walk(at, node, bool(taken & _SCANNED and by & NAMES))
                return taken | by & ~NAMES
            case ast.Call():
                return self._call(at, node)
            case _:
                return self._all(at, children(node))

    def _all(self, at: _At, nodes: Sequence[ast.AST]) -> int:
        return reduce(or_, [self.visit(at, each) for each in nodes], 0)

    def _bind(self, at: _At, targets: Sequence[ast.expr], flag: int) -> int:
        at.flags.update((name, flag) for target in targets for name in target_names(target))
        return flag

    def _call(self, at: _At, call: ast.Call) -> int:
        given = [self.visit(at, _unsorted(call, each)) for each in call.args]
        named = {each.arg or "**": self.visit(at, each.value) for each in call.keywords}
        owner = self.visit(at, call.func) if not isinstance(call.func, ast.Name) else 0
        name = (dotted(call.func) or str(getattr(call.func, "attr", ""))).rpartition(".")[2]
        values = [*given, *named.values(), owner]
        self.steps = self.steps or name in _STEPS
        self._note_walk(at, call, name in _OF_DICTS and bool(owner & _SCANNED))
        body = self._function(at.module, call.func)
        if body is not None and at.depth < _DEEPEST:
            self._enter(body, call, given, named, at.depth + 1)
        elif name in _CONTRACTIONS or "apply" in name.split("_"):
            self._note_product(values)
        if body is None and (name in _NO_VALUES or _RANDOM.search(dotted(call.func) or "")):
            return 0
        found = reduce(or_, values, 0)
        return found | (NAMES if name in _LISTING and found & _SCANNED else 0)

    def _function(self, module: Module, node: ast.expr, depth: int = 0) -> Body | None:
        """Return the function of the project that a call runs or maps, as by `jax.vmap`."""
        found = callee(self.index, module, node)
        if isinstance(found, Body) or depth > _DEEPEST:
            return found if isinstance(found, Body) else None
        parts: list[ast.expr] = []
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                return next(
                    (Body(module, each) for each in by_kind(module.tree)[ast.FunctionDef] if each.name == name), None
                )
            case ast.Call(func=function, args=given):
                parts = [function, *given[:1]]
            case ast.Name():
                parts = [value for _, value in bindings(module, node) if value is not None]
        inner = (self._function(module, each, depth + 1) for each in parts)
        return next((each for each in inner if each is not None), None)

    def _enter(self, body: Body, call: ast.Call, given: Sequence[int], named: Mapping[str, int], depth: int) -> None:
        """Follow the arguments of a call through a function."""
        names = [each.arg for each in (*body.node.args.posonlyargs, *body.node.args.args)]
        if names[:1] == ["self"] and isinstance(call.func, ast.Attribute):
            names = names[1:]
        rest = reduce(or_, given[len(names) :], named.get("**", 0))
        flags = {each.arg: rest for each in parameters(body.node)} | dict(zip(names, given, strict=False)) | dict(named)
        entered = (body.node, tuple(sorted(flags.items())))
        if entered not in self._entered and any(flags.values()):
            self._entered.add(entered)
            code = [body.node.body] if isinstance(body.node, ast.Lambda) else body.node.body
            self._all(_At(body.module, flags, depth), code)

    def _note_walk(self, at: _At, node: ast.AST, walks: bool) -> None:
        """Note iteration over a dict: `p.items()`, `for name in p: x = x @ p[name]`."""
        self.walked = (at.module, node) if walks and self.walked is None else self.walked

    def _note_product(self, sides: Sequence[int]) -> None:
        """Note a product of a part of the element with a value of the carry; squares do not count."""
        both = [each & (ELEMENT | CARRY) for each in sides]
        pairs = ((one, other) for at, one in enumerate(both) for other in both[at + 1 :])
        self.multiplies |= any(one != other and one | other == ELEMENT | CARRY for one, other in pairs)


def _unsorted(call: ast.Call, given: ast.expr) -> ast.expr:
    """Return `p` for `sorted(p.items())`, where the order of `p` does not matter; any other argument unchanged."""
    match given:
        case ast.Call(func=ast.Attribute(value=owner, attr="items" | "keys")) if dotted(call.func) == "sorted":
            return owner
        case _:
            return given
