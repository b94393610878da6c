"""The calls in a project of what has a name, and what a function's parameters are where a call gives nothing."""

import ast
from collections.abc import Iterator

from scanify.analysis.index import Index
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted


def calls_of(index: Index, name: str, *others: str) -> Iterator[tuple[Module, ast.Call]]:
    """The calls of a name, and of `others` in the files that mention it: `partial`, which is given the function."""
    for home in index.modules_with(name):
        for each in nodes_in(home.tree):
            if isinstance(each, ast.Call) and called_name(each) in (name, *others):
                yield home, each


def called_name(call: ast.Call) -> str:
    """`Net` of `Net(...)` and of `models.Net(...)`."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func) or ""


def defaults_of(args: ast.arguments) -> dict[str, ast.expr]:
    """The defaults of parameters, by their names."""
    positional = [each.arg for each in (*args.posonlyargs, *args.args)]
    found = dict(zip(reversed(positional), reversed(args.defaults), strict=False))
    return found | {each.arg: given for each, given in zip(args.kwonlyargs, args.kw_defaults, strict=True) if given}
