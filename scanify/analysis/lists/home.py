"""The place of an expression, and the meanings of names there."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.flow.statements import assignments, given_to
from scanify.analysis.index.meaning import Definition, External, Meaning
from scanify.analysis.index.module import Module
from scanify.analysis.lists.layer_list import Class
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, parameters, scope_of
from scanify.analysis.lower.text import dotted, root
from scanify.analysis.project_facts import ProjectFacts

Repeat = ast.For | ast.comprehension | ast.While

COPIES = ("list", "tuple", "iter", "reversed")
# Packages whose functions give numbers, texts, arrays and functions, and no modules.
COMPUTING = ("builtins.", "jax.", "numpy.", "math.", "random.", "functools.", "itertools.", "operator.")


@dataclass(frozen=True, eq=False)
class Home:
    """The place of an expression: its file, and the function around it; None for the top level of the file."""

    project: ProjectFacts
    module: Module
    function: ast.FunctionDef | ast.AsyncFunctionDef | None

    def builtin(self, node: ast.AST | None) -> str | None:
        """Return the name of Python's own function that a call calls, None for any other expression."""
        return scope_of(self.module, node).builtin(node) if isinstance(node, ast.Call) else None

    def meaning(self, node: ast.expr) -> Meaning | None:
        """Return what a dotted name stands for, None for a local name and for what the index cannot show."""
        name = dotted(node)
        if name is None:
            return None
        binding = scope_of(self.module, node).binding(name.partition(".")[0])
        if binding is not None and binding.parent is not None:
            return None
        return self.project.index.resolve(self.module, name)

    def library(self, node: ast.AST | None) -> str:
        """Return the qualified name of the library function that a call calls, or an empty text."""
        meaning = self.meaning(node.func) if isinstance(node, ast.Call) else None
        return meaning.qualname if isinstance(meaning, External) else ""

    def values_of(self, name: str) -> list[tuple[ast.AST, ast.expr | None]]:
        """Return the statements of the function that bind a name, with the value if one expression is assigned."""
        return [(each, assigned(each, name)) for each in assignments(self.function.body if self.function else (), name)]

    def binder(self, node: ast.Name) -> "Home":
        """Return the place of the function that binds a name: one around this one if it binds the name once, for good.

        A name that an enclosing function binds again may have another value when the inner function runs.
        """
        binding, name = scope_of(self.module, node).binding(node.id), node.id
        if binding is None or binding.node is self.function or not isinstance(binding.node, FUNCTIONS):
            return self
        outer = Home(self.project, self.module, binding.node)
        inside = nodes_in(*binding.node.body)
        rebound = any(isinstance(each, ast.Nonlocal) and name in each.names for each in inside)
        return outer if len(outer.values_of(name)) + outer.is_parameter(name) == 1 and not rebound else self

    def is_parameter(self, name: str) -> bool:
        """True if the function has a parameter of that name."""
        return any(each.arg == name for each in parameters(self.function)) if self.function is not None else False

    def is_local(self, node: ast.Name) -> bool:
        """True if the function itself binds a name."""
        binding = scope_of(self.module, node).binding(node.id)
        return self.function is not None and binding is not None and binding.node is self.function


def assigned(statement: ast.AST, name: str) -> ast.expr | None:
    match statement:
        case ast.Assign(targets=[target], value=value):
            pairs = given_to(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            pairs = [(target, value)]
        case _:
            return None
    return next((given for each, given in pairs if isinstance(each, ast.Name) and each.id == name), None)


def columns(home: Home, target: ast.expr, walked: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield each target of a loop's head with the container of its elements; None for a target that counts."""
    name = home.builtin(walked)
    if isinstance(walked, ast.Call) and not any(isinstance(each, ast.Starred) for each in walked.args):
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if name == "zip" and len(parts) == len(walked.args) and parts:
            for part, source in zip(parts, walked.args, strict=True):
                yield from columns(home, part, source)
            return
        if name == "enumerate" and len(parts) == 2 and walked.args:
            yield parts[0], None
            yield from columns(home, parts[1], walked.args[0])
            return
        if name == "range":
            yield target, None
            return
        if name in COPIES and len(walked.args) == 1:
            yield from columns(home, target, walked.args[0])
            return
    yield target, walked


def computed_from(names: set[str], nodes: Sequence[ast.AST], *, parts: bool = False) -> set[str]:
    """Return some names and those that are assigned what is computed from them, or with `parts` a part of it."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=value) | ast.For(target=target, iter=value):
                pairs += given_to(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.comprehension(target=target, iter=value):
                pairs.append((target, value))
    before = -1
    while before != len(names):
        before = len(names)
        for target, value in pairs:
            inside = [*branches(value), *getattr(value, "args", ())] if parts else nodes_in(value)
            if any(root(each) in names or dotted(each) in names for each in inside):
                names = names | {name for each in getattr(target, "elts", [target]) if (name := dotted(each))}
    return names


def branches(value: ast.expr) -> list[ast.expr]:
    """Return the expressions that a conditional expression chooses from; the expression itself if it is none."""
    return [*branches(value.body), *branches(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def given_in(call: ast.Call) -> list[tuple[str | None, ast.expr]]:
    """Return the arguments of a call with their names; `**` is the name of a spread dict."""
    return [*((None, each) for each in call.args), *((each.arg or "**", each.value) for each in call.keywords)]


def class_meant(home: Home, node: ast.expr) -> Class | None:
    """Return the class that a name stands for, None if it is not shown."""
    meaning = home.meaning(node)
    if isinstance(meaning, External):
        known = home.project.classes.is_module(meaning)
        last = meaning.qualname.rpartition(".")[2]
        other = last[:1].isupper() and not meaning.qualname.startswith((*COMPUTING, "equinox."))
        return meaning if known or other else None
    return meaning if isinstance(meaning, Definition) and isinstance(meaning.node, ast.ClassDef) else None
