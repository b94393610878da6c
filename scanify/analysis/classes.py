"""Classes of the project: which are Equinox modules, and where their attributes come from."""

from dataclasses import dataclass

import libcst as cst

from scanify.analysis.blocks import blocks
from scanify.analysis.names import body_of
from scanify.analysis.project import Definition, External, Project, dotted
from scanify.analysis.where import Where, given_to, method_where

# Public names of equinox.nn that are not modules (equinox/nn/__init__.py, 0.13).
_NOT_MODULES = {"State", "StateIndex", "inference_mode", "make_with_state"}
# Packages whose modules are of their own kind.
_OTHER_MODULES = frozenset("flax torch haiku keras tensorflow sonnet objax lightning pytorch_lightning mlx".split())
_MAX_DEPTH = 12


@dataclass(frozen=True, eq=False)
class Assignment:
    """`self.attr = value` in a method of a class."""

    at: Where
    statement: cst.Assign | cst.AnnAssign
    value: cst.BaseExpression


@dataclass(frozen=True, eq=False)
class Declaration:
    """`attr: annotation` in the body of a class, or on its assignment in a method."""

    owner: Definition
    annotation: cst.BaseExpression
    value: cst.BaseExpression | None = None


def is_module(project: Project, meaning: object, depth: int = 0) -> bool:
    """Whether a class is an `equinox.Module`, through any number of base classes of the project."""
    if isinstance(meaning, External):
        root, _, name = meaning.qualname.rpartition(".")
        if root in ("equinox.nn", "eqx.nn"):
            return name[:1].isupper() and name not in _NOT_MODULES
        return meaning.qualname in ("equinox.Module", "equinox._module.Module", "equinox.nn.StatefulLayer")
    if isinstance(meaning, Definition) and isinstance(meaning.node, cst.ClassDef) and depth < _MAX_DEPTH:
        if meaning.name == "Module" and meaning.module.name.partition(".")[0] == "equinox":
            return True  # equinox's own source is looked at
        found = bases(project, meaning)
        return any(is_module(project, base, depth + 1) or _like_module(project, meaning, base) for base in found)
    return False


def _like_module(project: Project, definition: Definition, base: Definition | External | None) -> bool:
    """Whether a base class from another package is a kind of `equinox.Module`, by its name in a file that uses equinox.

    What turns out to be none is an error when its layers are stacked.
    """
    if not isinstance(base, External) or base.qualname.partition(".")[0] in _OTHER_MODULES:
        return False
    uses = any(project.resolve(definition.module, name) == External("equinox") for name in ("eqx", "equinox"))
    return uses and "Module" in base.qualname.rpartition(".")[2]


def bases(project: Project, definition: Definition) -> list[Definition | External | None]:
    """The base classes of a class, None for those that cannot be shown."""
    found: list[Definition | External | None] = []
    node = definition.node
    if isinstance(node, cst.ClassDef):
        for base in node.bases:
            value = base.value.value if isinstance(base.value, cst.Subscript) else base.value
            name = dotted(value)
            meaning = project.resolve(definition.module, name) if name is not None else None
            found.append(meaning if isinstance(meaning, Definition | External) else None)
    return found


def lineage(project: Project, definition: Definition, depth: int = 0) -> list[Definition]:
    """A class and the classes of the project it inherits from, in the order in which Python looks for a method.

    Depth first with the last of each kept, as Python 2.2 had it: it differs from C3 only where C3 finds no order.
    """
    found = [definition]
    if depth < _MAX_DEPTH:
        for base in bases(project, definition):
            more = lineage(project, base, depth + 1) if isinstance(base, Definition) else []
            nodes = {id(one.node) for one in more}
            found = [one for one in found if id(one.node) not in nodes] + more
    return found


def methods(definition: Definition) -> list[cst.FunctionDef]:
    """The functions in the body of a class."""
    if not isinstance(definition.node, cst.ClassDef):
        return []
    return [one for one in body_of(definition.node.body) if isinstance(one, cst.FunctionDef)]


def method(project: Project, definition: Definition, name: str) -> tuple[Definition, cst.FunctionDef] | None:
    """The method of that name that an instance of exactly this class has."""
    for owner in lineage(project, definition):
        for function in methods(owner):
            if function.name.value == name:
                return owner, function
    return None


def attribute_assignments(project: Project, definition: Definition, attribute: str) -> list[Assignment]:
    """Every assignment to `self.attribute` in the methods of a class and of its bases."""
    found: list[Assignment] = []
    for owner in lineage(project, definition):
        for function in methods(owner):
            at = method_where(owner, function)
            for statement in blocks(body_of(function.body)):
                for target, value in _stores(statement):
                    if at.self_name is not None and dotted(target) == f"{at.self_name}.{attribute}":
                        assert isinstance(statement, cst.Assign | cst.AnnAssign)
                        found.append(Assignment(at, statement, value))
    return found


def _stores(statement: cst.CSTNode) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    match statement:
        case cst.Assign():
            return [pair for target in statement.targets for pair in given_to(target.target, statement.value)]
        case cst.AnnAssign() if statement.value is not None:
            return [(statement.target, statement.value)]
        case _:
            return []


def declarations(project: Project, definition: Definition, attribute: str) -> list[Declaration]:
    """The annotations of an attribute: in class bodies, and on `self.attribute: T = ...`."""
    found: list[Declaration] = []
    for owner in lineage(project, definition):
        assert isinstance(owner.node, cst.ClassDef)
        found.extend(
            Declaration(owner, statement.annotation.annotation, statement.value)
            for statement in blocks(body_of(owner.node.body))
            if isinstance(statement, cst.AnnAssign) and dotted(statement.target) == attribute
        )
        for function in methods(owner):
            at = method_where(owner, function)
            found.extend(
                Declaration(owner, statement.annotation.annotation)
                for statement in blocks(body_of(function.body))
                if isinstance(statement, cst.AnnAssign)
                and at.self_name is not None
                and dotted(statement.target) == f"{at.self_name}.{attribute}"
            )
    return found
