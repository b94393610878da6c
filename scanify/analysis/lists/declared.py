"""Classes of objects and of list elements, as declared in annotations."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.language.tables import DICT_TYPES, LIST_TYPES, WRAPPERS_OF_TYPES
from scanify.analysis.lists.home import is_none
from scanify.analysis.lists.layer_list import Class
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, parameters
from scanify.analysis.lower.text import dotted, unquoted
from scanify.analysis.project_facts import ProjectFacts

_ARRAY_TYPES = frozenset({"Array", "ndarray", "ArrayLike"})


@dataclass(frozen=True, eq=False)
class Declared:
    """The class in an annotation: of the elements for a list type, else of the object itself.

    `listed`: the type is a list, tuple or dict. `array`: it names an array. `optional`: it allows None.
    """

    cls: Class | None = None
    listed: bool = False
    of_dict: bool = False
    optional: bool = False
    array: bool = False


def declared(project: ProjectFacts, module: Module, annotation: ast.expr | None) -> Declared:
    """Read an annotation; a union of several classes gives no class."""
    options = list(options_of(annotation))
    found = [_plain(project, module, each) for each in options if not is_none(each)]
    said = found[0] if len(found) == 1 else Declared(listed=any(each.listed for each in found))
    return replace(said, optional=len(found) < len(options))


def declared_parameter(project: ProjectFacts, module: Module, function: ast.AST | None, name: str) -> Declared:
    """Read the annotation of a parameter of a function."""
    given = parameters(function) if isinstance(function, FUNCTIONS) else ()
    return declared(project, module, next((each.annotation for each in given if each.arg == name), None))


def options_of(annotation: ast.expr | None) -> Iterator[ast.expr]:
    """Yield the types that an annotation allows: `A` and `None` of `Final[A | None]`."""
    match unquoted(annotation) if annotation is not None else None:
        case None:
            return
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            inner, more = [left, right], []
        case ast.Subscript(value=outer, slice=within) if (name := last_name(outer)) in ("Optional", "Union"):
            inner, more = _parts(within), [ast.Constant(None)] if name == "Optional" else []
        case ast.Subscript(value=outer, slice=within) if last_name(outer) in WRAPPERS_OF_TYPES:
            inner, more = _parts(within)[:1], []
        case plain:
            yield plain
            return
    for each in inner:
        yield from options_of(each)
    yield from more


def _plain(project: ProjectFacts, module: Module, node: ast.expr) -> Declared:
    """Read one type; a list type with several element types gives no class."""
    outer = node.value if isinstance(node, ast.Subscript) else node
    name = last_name(outer)
    if name in LIST_TYPES | DICT_TYPES:
        parts = _parts(node.slice)[name in DICT_TYPES :] if isinstance(node, ast.Subscript) else []
        parts = [each for each in parts if not (isinstance(each, ast.Constant) and each.value is Ellipsis)]
        inner = declared(project, module, parts[0]) if len(set(map(ast.unparse, parts))) == 1 else Declared()
        return Declared(inner.cls if not inner.listed else None, listed=True, of_dict=name in DICT_TYPES)
    array = any(getattr(each, "id", getattr(each, "attr", "")) in _ARRAY_TYPES for each in nodes_in(node))
    meaning = project.index.resolve(module, dotted(outer) or "?")
    if isinstance(meaning, Definition) and isinstance(meaning.node, ast.ClassDef):
        bases = project.classes.bases(meaning)
        protocol = any(getattr(each, "qualname", "") == "typing.Protocol" for each in bases)
        known = project.classes.known_bases(meaning) and not protocol
        return Declared(meaning if known or project.classes.is_module(meaning) else None)
    if isinstance(meaning, External) and project.classes.is_module(meaning):
        return Declared(meaning if not meaning.qualname.endswith(".Module") else None)
    return Declared(array=array)


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name."""
    return (dotted(node) or "").rpartition(".")[2]


def is_static(default: ast.expr | None) -> bool:
    """True for `field(static=True)` and `static_field()`."""
    if not isinstance(default, ast.Call):
        return False
    static = [each.value for each in default.keywords if each.arg == "static"]
    if static:
        return not (isinstance(static[0], ast.Constant) and static[0].value is False)
    return last_name(default.func) == "static_field"
