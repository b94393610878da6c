"""The function around an expression, and the meanings of names there."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.analysis.flow.statements import assignments, value_given
from scanify.analysis.index.meaning import Definition, External, Meaning
from scanify.analysis.index.module import Module
from scanify.analysis.lists.layer_list import Class
from scanify.analysis.lower.scope import parameters, scope_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.project_facts import ProjectFacts

Repeat = ast.For | ast.comprehension | ast.While

COPIES = ("list", "tuple", "iter", "reversed")
# Packages whose functions return numbers, strings, arrays and functions, but no modules.
COMPUTING = ("builtins.", "jax.", "numpy.", "math.", "random.", "functools.", "itertools.", "operator.")


@dataclass(frozen=True, eq=False)
class Home:
    """The place of an expression: its file, and the function around it; None for the top level of the file."""

    project: ProjectFacts
    module: Module
    function: ast.FunctionDef | ast.AsyncFunctionDef | None

    def builtin(self, node: ast.AST | None) -> str | None:
        """Return the name of the builtin that a call calls, None for any other expression."""
        return scope_of(self.module, node).builtin(node) if isinstance(node, ast.Call) else None

    def meaning(self, node: ast.expr) -> Meaning | None:
        """Return the meaning of a dotted name; None for a local name, or if the index cannot resolve it."""
        name = dotted(node)
        if name is None:
            return None
        binding = scope_of(self.module, node).binding(name.partition(".")[0])
        if binding is not None and binding.parent is not None:
            return None
        return self.project.index.resolve(self.module, name)

    def library(self, node: ast.AST | None) -> str:
        """Return the qualified name of the library function that a call calls, or an empty string."""
        meaning = self.meaning(node.func) if isinstance(node, ast.Call) else None
        return meaning.qualname if isinstance(meaning, External) else ""

    def values_of(self, name: str) -> list[tuple[ast.AST, ast.expr | None]]:
        """Return the statements of the function that bind a name, each with the value if it is one expression."""
        bound = assignments(self.function.body if self.function else (), name)
        return [(each, next(iter(value_given(each, name)), None)) for each in bound]

    def is_parameter(self, name: str) -> bool:
        """True if the function has a parameter with that name."""
        return any(each.arg == name for each in parameters(self.function)) if self.function is not None else False

    def is_local(self, node: ast.Name) -> bool:
        """True if the function itself binds a name."""
        binding = scope_of(self.module, node).binding(node.id)
        return self.function is not None and binding is not None and binding.node is self.function


def columns(home: Home, target: ast.expr, walked: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield each target in the head of a loop with the container of its elements; None for a counter."""
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


def given_in(call: ast.Call) -> list[tuple[str | None, ast.expr]]:
    """Return the arguments of a call with their names; an unpacked dict has the name `**`."""
    return [*((None, each) for each in call.args), *((each.arg or "**", each.value) for each in call.keywords)]


def class_meant(home: Home, node: ast.expr) -> Class | None:
    """Return the class that a name refers to, None if it is not shown."""
    meaning = home.meaning(node)
    if isinstance(meaning, External):
        known = home.project.classes.is_module(meaning)
        last = meaning.qualname.rpartition(".")[2]
        other = last[:1].isupper() and not meaning.qualname.startswith((*COMPUTING, "equinox."))
        return meaning if known or other else None
    return meaning if isinstance(meaning, Definition) and isinstance(meaning.node, ast.ClassDef) else None


def is_none(node: ast.AST) -> bool:
    """True for the constant None."""
    return isinstance(node, ast.Constant) and node.value is None
