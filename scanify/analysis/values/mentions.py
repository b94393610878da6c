"""Mentions: the identifiers that the code of a function uses for what lies outside of it.

Words of comments and of texts that are no identifiers mention nothing, nor do names that a function binds for itself:
a local `layers` is not the field of that name. Annotations of parameters count where the code asks for classes.
"""

import ast
from collections.abc import Iterator

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.named_code import FunctionNode

_CLASS_OF = frozenset({"type", "__class__"})
_NAMELESS = frozenset({"cls", "type", "__class__", "replace", "locals", "vars"})
"""By these a class is reached without its name, and takes its fields from local names: `layers = ...; cls(layers)`."""


def mentioned_in(node: FunctionNode) -> frozenset[str]:
    """The identifiers that a function mentions, in its decorators and the defaults of its parameters too."""
    args = node.args
    outside = [*node.decorator_list, *args.defaults, *(each for each in args.kw_defaults if each is not None)]
    found = _Words()
    for each in _parameters(node):
        found.bound.add(each.arg)
    for part in (*outside, *node.body):
        found.read(part)
    if found.loaded & _CLASS_OF or found.said & _CLASS_OF:
        for each in _parameters(node):
            if each.annotation is not None:
                found.read(each.annotation)
    nameless = (found.loaded | found.said) & _NAMELESS
    return frozenset(found.said | (found.loaded | found.bound if nameless else found.loaded - found.bound))


def _parameters(node: FunctionNode) -> Iterator[ast.arg]:
    args = node.args
    for each in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if each is not None:
            yield each


class _Words:
    """Identifiers by what they are: names that are loaded, names that are bound, and all others."""

    def __init__(self) -> None:
        self.loaded: set[str] = set()
        self.bound: set[str] = set()
        self.said: set[str] = set()

    def read(self, part: ast.AST) -> None:
        for node in nodes_in(part):
            if isinstance(node, ast.Name):  # as most are
                (self.loaded if isinstance(node.ctx, ast.Load) else self.bound).add(node.id)
            elif isinstance(node, ast.Attribute):
                self.said.add(node.attr)
            else:
                self._other(node)

    def _other(self, node: ast.AST) -> None:
        match node:
            case ast.keyword(arg=str(name)):
                self.said.add(name)
            case ast.Constant(value=str(text)):
                self.said |= _identifiers(text)
            case ast.alias(name=name):
                self.said.update(name.split("."))
            case ast.arg(arg=name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self.bound.add(name)
            case ast.MatchClass(kwd_attrs=names) | ast.Global(names=names) | ast.Nonlocal(names=names):
                self.said.update(names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.bound.add(name)


def _identifiers(text: str) -> set[str]:
    """The identifiers of a text that is one, a path of them (`"encoder.layers"`) or a type (`"list[Block]"`)."""
    if len(text) > _LONG or not text.replace(".", "").replace("[", "").replace("]", "").isidentifier():
        return set()
    return set(text.replace("[", ".").replace("]", "").split("."))


_LONG = 200  # characters: longer texts are prose
