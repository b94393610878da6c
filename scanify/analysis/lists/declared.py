"""Classes of objects and of elements of lists, by annotations."""

import ast
from dataclasses import dataclass, replace

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.lists.layer_list import Class
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, parameters
from scanify.analysis.lower.text import dotted, unquoted
from scanify.analysis.project_facts import ProjectFacts

LIST_TYPES = frozenset("list List tuple Tuple Sequence Iterable Collection MutableSequence".split())
_DICT_TYPES = frozenset("dict Dict Mapping MutableMapping OrderedDict".split())
_THROUGH = frozenset(
    "Annotated Final ClassVar Required NotRequired ReadOnly InitVar AbstractVar AbstractClassVar".split()
)
_DATA = ("builtins.", "jax.Array", "jax.numpy.", "numpy.", "jax.typing.", "enum.")
_ARRAY_TYPES = frozenset({"Array", "ndarray", "ArrayLike"})
_NO_DATA = frozenset("builtins.object builtins.type builtins.callable".split())


@dataclass(frozen=True, eq=False)
class Declared:
    """The class in an annotation: of the elements if it is a list, else of the object itself.

    `listed`: it says list, tuple or dict. `data`: what is named is no module, such as a plain class. `array`: an array
    is named, and no number. `optional`: None is allowed.
    """

    cls: Class | None = None
    listed: bool = False
    of_dict: bool = False
    data: bool = False
    optional: bool = False
    array: bool = False


def declared(project: ProjectFacts, module: Module, annotation: ast.expr | None) -> Declared:
    """Read an annotation of a file."""
    annotation = unquoted(annotation) if annotation is not None else None
    if annotation is None:
        return Declared()
    names = {getattr(each, "id", getattr(each, "attr", "")) for each in nodes_in(annotation)}
    array = bool(names & _ARRAY_TYPES) and not names & {"int", "float", "bool"}
    return replace(_declared(project, module, annotation), array=array)


def declared_parameter(project: ProjectFacts, module: Module, function: ast.AST | None, name: str) -> Declared:
    """Read the annotation of a parameter of a function."""
    given = parameters(function) if isinstance(function, FUNCTIONS) else ()
    return declared(project, module, next((each.annotation for each in given if each.arg == name), None))


def _declared(project: ProjectFacts, module: Module, annotation: ast.expr) -> Declared:
    match annotation:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _union(project, module, [left, right])
        case ast.Subscript(value=outer, slice=inner):
            name = (dotted(outer) or "").rpartition(".")[2]
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if name == "Optional":
                return _union(project, module, [parts[0], ast.Constant(None)])
            if name == "Union":
                return _union(project, module, parts)
            if name in _THROUGH:
                return declared(project, module, parts[0])
            if name in LIST_TYPES or name == "List":
                return _elements(project, module, parts, of_dict=False)
            if name in _DICT_TYPES:
                return _elements(project, module, parts[1:], of_dict=True)
            return declared(project, module, outer)
        case _:
            return _plain(project, module, annotation)


def _plain(project: ProjectFacts, module: Module, annotation: ast.expr) -> Declared:
    name = dotted(annotation)
    last = (name or "").rpartition(".")[2]
    if last in LIST_TYPES | _DICT_TYPES:
        return Declared(listed=True, of_dict=last in _DICT_TYPES)
    meaning = project.index.resolve(module, name) if name is not None else None
    if isinstance(meaning, External):
        if project.classes.is_module(meaning):
            return Declared(None if meaning.qualname.endswith(".Module") else meaning)
        jaxtyping = meaning.qualname.startswith("jaxtyping.") and last != "PyTree"
        data = meaning.qualname.startswith(_DATA) and meaning.qualname not in _NO_DATA
        return Declared(data=data or jaxtyping)
    if isinstance(meaning, Definition) and isinstance(meaning.node, ast.ClassDef):
        if project.classes.is_module(meaning):
            return Declared(meaning)
        protocol = any(getattr(each, "qualname", "") == "typing.Protocol" for each in project.classes.bases(meaning))
        known = project.classes.known_bases(meaning) or project.classes.is_foreign(meaning)
        if protocol or not known:
            return Declared()
        return Declared(meaning, data=not any(map(project.classes.is_module, project.classes.heirs(meaning))))
    return Declared()


def _union(project: ProjectFacts, module: Module, parts: list[ast.expr]) -> Declared:
    some = [each for each in parts if not (isinstance(each, ast.Constant) and each.value is None)]
    found = [declared(project, module, each) for each in some]
    optional = len(some) < len(parts) or any(each.optional for each in found)
    if len(found) == 1:
        return replace(found[0], optional=optional)
    return Declared(listed=any(each.listed for each in found), data=all(each.data for each in found), optional=optional)


def _elements(project: ProjectFacts, module: Module, parts: list[ast.expr], *, of_dict: bool) -> Declared:
    """The class in the brackets of a list type; none if there are several."""
    parts = [each for each in parts if not (isinstance(each, ast.Constant) and each.value is Ellipsis)]
    found = [declared(project, module, each) for each in parts]
    if not found:
        return Declared(listed=True, of_dict=of_dict)
    same = len({ast.unparse(each) for each in parts}) == 1 and not found[0].listed
    data = all(each.data for each in found)
    return Declared(found[0].cls if same else None, True, of_dict, data)


def is_static(default: ast.expr | None) -> bool:
    """True of `field(static=True)` and `static_field()`."""
    if not isinstance(default, ast.Call):
        return False
    static = [each.value for each in default.keywords if each.arg == "static"]
    if static:
        return not (isinstance(static[0], ast.Constant) and static[0].value is False)
    return (dotted(default.func) or "").endswith("static_field")
