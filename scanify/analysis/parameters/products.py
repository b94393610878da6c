"""What a body does with an element: whether it multiplies what the loop carries with what the element holds, as a
layer does, and whether it walks a dict of it, which a scan gives back with its keys sorted.

Names are followed into the functions of the project that are called; nothing is run. What is only added to a carry, as
norms and losses are, is no product; neither is a step of training, which takes gradients.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from scanify.analysis.flow.names import target_names
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.index.project import Index
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted
from scanify.analysis.remarks.view import bindings
from scanify.analysis.watchers.names import Body, callee, local_scope

ELEMENT, CARRY, BESIDE, NAMES = 1, 2, 4, 8  # what is of the element, of the carry, walked beside; names of a dict
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
_OF_ARRAYS = frozenset(
    "astype reshape transpose dot sum mean get items keys values at conj copy squeeze ravel swapaxes _asdict".split()
)
_OF_NAMES = frozenset("list tuple iter".split())
_RANDOM = re.compile(r"(^|\.)(random|jr)\.")
Flags = dict[str, int]


@dataclass(frozen=True)
class Use:
    """What one iteration does: it multiplies a carry with a part of the element, and takes no gradients (`multiplies`).
    `walked` is the first walk through a dict that the element is or holds, with its file."""

    multiplies: bool
    walked: tuple[Module, ast.AST] | None = None


def use_of(index: Index, loop: Loop, walk: Walk, carry: Sequence[str]) -> Use:
    """What one iteration does with the element."""
    elements = set(target_names(walk.target))
    if _calls_element(loop, elements):
        return Use(False)
    beside = [name for other in loop.walks for name in target_names(other.target)]
    flags = {
        **dict.fromkeys(beside, BESIDE),
        **dict.fromkeys(carry, CARRY),
        **dict.fromkeys(elements, ELEMENT),
    }
    seen = _Follow(index)
    seen.statements(_At(loop.module, flags, 0), loop.body)
    return Use(seen.product and not seen.step, seen.walked)


def _calls_element(loop: Loop, elements: set[str]) -> bool:
    """Whether an element is an object that is asked to do something, no tree of arrays; or what is walked is called."""
    for call in (each for part in loop.body for each in nodes_in(part) if isinstance(each, ast.Call)):
        match call.func:
            case ast.Name(id=name) if name in loop.targets:
                return True
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in elements and attr not in _OF_ARRAYS:
                return True
    return False


@dataclass(frozen=True)
class _At:
    """Where it is followed: the file, what the names are made of, and how deep in calls."""

    module: Module
    flags: Flags
    depth: int


class _Follow:
    """Follows names through statements; `product`, `step` and `walked` say what was seen on the way."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.product = self.step = False
        self.walked: tuple[Module, ast.AST] | None = None
        self._done: set[tuple[ast.AST, tuple[tuple[str, int], ...]]] = set()

    def statements(self, at: _At, body: Sequence[ast.stmt]) -> None:
        """Follow statements in their order, with branches one after another."""
        for statement in body:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    self._bind(at, targets, self.of(at, value))
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._bind(at, [target], self.of(at, value))
                case ast.AugAssign(target=target, op=op, value=value):
                    left = self.of(at, ast.copy_location(target, target))
                    right = self.of(at, value)
                    self._multiplied(isinstance(op, _PRODUCTS), [left, right])
                    self._bind(at, [target], left | right)
                case ast.For(target=target, iter=walked, body=inner):
                    self._bind(at, [target], self.of(at, walked))
                    self._names_of(at, target, inner)
                    self.statements(at, inner)
                case ast.If(test=test, body=inner, orelse=other):
                    self.of(at, test)
                    self.statements(at, [*inner, *other])
                case ast.With(body=inner):
                    self.statements(at, inner)
                case ast.FunctionDef() | ast.ClassDef():
                    continue
                case _:
                    for part in ast.iter_child_nodes(statement):
                        if isinstance(part, ast.expr):
                            self.of(at, part)

    def of(self, at: _At, node: ast.expr) -> int:
        """What an expression is made of, of the carry and of the element."""
        match node:
            case ast.Name(id=name):
                return at.flags.get(name, 0)
            case ast.Attribute(attr=attr) if attr in _OF_SHAPES:
                return 0
            case ast.BinOp(left=left, op=op, right=right):
                sides = [self.of(at, each) for each in (left, right)]
                self._multiplied(isinstance(op, _PRODUCTS), sides)
                return sides[0] | sides[1]
            case ast.Call():
                return self._call(at, node)
            case ast.Lambda():
                return self.of(at, node.body)
            case ast.Subscript(value=whole, slice=place):
                taken, by = self.of(at, whole), self.of(at, place)
                if taken & _SCANNED and by & NAMES:
                    self.walked = self.walked or (at.module, node)
                return taken | by
            case _:
                found = 0
                for part in ast.iter_child_nodes(node):
                    if isinstance(part, ast.comprehension):
                        self._bind(at, [part.target], self.of(at, part.iter))
                        self._names_of(at, part.target, [node])
                for part in ast.iter_child_nodes(node):
                    inner = part.value if isinstance(part, ast.keyword) else part
                    found |= self.of(at, inner) if isinstance(inner, ast.expr) else 0
                return found

    def _call(self, at: _At, call: ast.Call) -> int:
        given = [self.of(at, _unsorted(call, each)) for each in call.args]
        named = [(each.arg, self.of(at, each.value)) for each in call.keywords]
        owner = 0
        if isinstance(call.func, ast.Attribute | ast.Call):
            owner = self.of(at, call.func if isinstance(call.func, ast.Call) else call.func.value)
        name = (dotted(call.func) or getattr(call.func, "attr", "") or "").rpartition(".")[2]
        self.step = self.step or name in _STEPS
        if name in ("items", "keys", "values") and owner & _SCANNED:
            self.walked = self.walked or (at.module, call)
        values = [*given, *(flag for _, flag in named)]
        function = self._function(at.module, call.func)
        if function is not None and at.depth < _DEEPEST:
            self._enter(function, call, given, named, at.depth)
        elif name in _CONTRACTIONS or "apply" in name.split("_"):
            self._multiplied(True, [*values, owner])
        if function is None and (name in _NO_VALUES or _RANDOM.search(dotted(call.func) or "")):
            return 0
        found = owner
        for value in values:
            found |= value
        return found | (NAMES if name in _OF_NAMES and found & _SCANNED else 0)

    def _function(self, module: Module, node: ast.expr, deep: int = 0) -> Body | None:
        """The function that a call runs: one of the project, or one made of such a one, as by `jax.vmap`."""
        found = callee(self.index, module, node)
        if isinstance(found, Body) or deep > _DEEPEST:
            return found if isinstance(found, Body) else None
        parts: Sequence[ast.expr] = ()
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                return _method(module, name)
            case ast.Call(func=function, args=given):
                parts = [function, *given[:1]]
            case ast.Name(id=name):
                meaning = self.index.resolve(module, name) if local_scope(module, node, name) is None else None
                if isinstance(meaning, Definition):
                    module, parts = meaning.module, [each for each in [getattr(meaning.node, "value", None)] if each]
                else:
                    parts = [value for _, value in bindings(module, node) if value is not None]
        inner = (self._function(module, each, deep + 1) for each in parts)
        return next((each for each in inner if each is not None), None)

    def _enter(
        self,
        body: Body,
        call: ast.Call,
        given: Sequence[int],
        named: Sequence[tuple[str | None, int]],
        depth: int,
    ) -> None:
        """Follow what a function does with what it is given."""
        function, arguments = body.node, body.node.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        if names[:1] == ["self"] and isinstance(call.func, ast.Attribute):
            names = names[1:]
        flags: Flags = dict(zip(names, given, strict=False))
        spread = 0
        for name, flag in named:
            if name is None:
                spread |= flag
            else:
                flags[name] = flag
        for each in (*names, *(one.arg for one in arguments.kwonlyargs)):
            flags.setdefault(each, spread)
        if arguments.vararg is not None:
            flags[arguments.vararg.arg] = max(given[len(names) :], default=0)
        if arguments.kwarg is not None:
            flags[arguments.kwarg.arg] = spread
        asked = (function, tuple(sorted(flags.items())))
        if asked in self._done or not any(flags.values()):
            return
        self._done.add(asked)
        at = _At(body.module, flags, depth + 1)
        if isinstance(function, ast.Lambda):
            self.of(at, function.body)
        else:
            self.statements(at, function.body)

    def _bind(self, at: _At, targets: Sequence[ast.expr], flag: int) -> None:
        for target in targets:
            for name in target_names(target):
                at.flags[name] = flag

    def _names_of(self, at: _At, target: ast.expr, body: Sequence[ast.AST]) -> None:
        """Note a walk through the names of a dict: `for name in p: x = x @ p[name]`."""
        if not isinstance(target, ast.Name) or not at.flags.get(target.id, 0) & _SCANNED:
            return
        for each in (part for one in body for part in ast.walk(one)):
            if isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Name) and each.slice.id == target.id:
                self.walked = self.walked or (at.module, each)

    def _multiplied(self, is_product: bool, sides: Sequence[int]) -> None:
        """Note a product of something of the element and something of the carry, not of the same with itself."""
        for at, one in enumerate(sides):
            for other in sides[at + 1 :] if is_product else ():
                mine, others = one & (ELEMENT | CARRY), other & (ELEMENT | CARRY)
                self.product = self.product or (mine | others == ELEMENT | CARRY and mine != others)


def _unsorted(call: ast.Call, given: ast.expr) -> ast.expr:
    """What is sorted: of `sorted(p.items())` p, whose own order does not matter."""
    match given:
        case ast.Call(func=ast.Attribute(value=owner, attr="items" | "keys")) if dotted(call.func) == "sorted":
            return owner
        case _:
            return given


def _method(module: Module, name: str) -> Body | None:
    classes = (each for each in module.tree.body if isinstance(each, ast.ClassDef))
    methods = (each for cls in classes for each in cls.body if isinstance(each, ast.FunctionDef) and each.name == name)
    return next((Body(module, each) for each in methods), None)
