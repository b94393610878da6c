"""Recognise classes that are modules of Flax Linen, and calls that build one."""

import ast
from dataclasses import dataclass

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.objects import home_of, only_value
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted
from scanify.analysis.project_facts import ProjectFacts

_PACKAGE = "flax.linen."
# Functions that wrap a class of modules without changing how it is applied: flax.linen.transforms, 0.12.
_REMAT = frozenset({"remat", "checkpoint"})
_LIFTED = frozenset({*_REMAT, "jit"})
_DEEPEST = 10  # chained names and nested wrappers; more are a cycle


@dataclass(frozen=True, eq=False)
class Built:
    """A call that builds a module: the name of its class, and the wrapper of that class ("" if none)."""

    call: ast.Call
    name: str
    wrapped: str = ""

    @property
    def given_name(self) -> ast.expr | None:
        """The argument that names the module."""
        return next((each.value for each in self.call.keywords if each.arg == "name"), None)

    @property
    def arguments(self) -> list[ast.expr | ast.keyword]:
        """The other arguments."""
        return [*self.call.args, *(each for each in self.call.keywords if each.arg != "name")]

    @property
    def remat(self) -> bool:
        """True if its class is wrapped in `nn.remat`."""
        return self.wrapped in _REMAT


def is_linen(project: ProjectFacts, meaning: object) -> bool:
    """True if a class is a module of Flax Linen, through any number of base classes of the project."""
    if isinstance(meaning, External):
        name = meaning.qualname
        return name.startswith(_PACKAGE) and name.removeprefix(_PACKAGE)[:1].isupper()
    if not isinstance(meaning, Definition) or not isinstance(meaning.node, ast.ClassDef):
        return False
    bases = (base for owner in project.classes.lineage(meaning) for base in project.classes.bases(owner))
    return any(isinstance(base, External) and is_linen(project, base) for base in bases)


def built_in(project: ProjectFacts, module: Module, *nodes: ast.AST) -> list[Built]:
    """Return the modules that some code builds, in order of the calls."""
    calls = [each for each in nodes_in(*nodes) if isinstance(each, ast.Call)]
    found = ((call, _class_called(home_of(project, module, call), call.func)) for call in calls)
    return [Built(call, *known) for call, known in found if known is not None]


def built_by(project: ProjectFacts, module: Module, node: ast.AST) -> Built | None:
    """Return the module that an expression builds, if it is such a call."""
    return next((each for each in built_in(project, module, node) if each.call is node), None)


def _class_called(home: Home, node: ast.expr, depth: int = 0) -> tuple[str, str] | None:
    """Return the name of the class that an expression refers to, and the Flax wrapper around it ("" if none)."""
    home, node = _meant(home, node)
    match node:
        case ast.Call(func=wrapper, args=[inner, *_]) if depth < _DEEPEST:
            lifted = _linen_name(*_meant(home, wrapper))
            found = _class_called(home, inner, depth + 1) if lifted in _LIFTED else None
            return (found[0], found[1] or lifted) if found is not None else None
        case ast.Name() | ast.Attribute():
            known = is_linen(home.project, home.meaning(node))
            return ((dotted(node) or "").rpartition(".")[2], "") if known else None
        case _:
            return None


def _linen_name(home: Home, node: ast.expr) -> str:
    """Return the last part of a name of flax.linen: `remat` for `flax.linen.partitioning.remat`."""
    meaning = home.meaning(node)
    found = meaning.qualname if isinstance(meaning, External) else ""
    return found.rpartition(".")[2] if found.startswith(_PACKAGE) else ""


def _meant(home: Home, node: ast.expr) -> tuple[Home, ast.expr]:
    """Return the expression that a name is assigned, through aliases, with its home."""
    for _ in range(_DEEPEST):
        given = only_value(home, node) if isinstance(node, ast.Name) else None
        if given is None:
            break
        home, node = given
    return home, node
