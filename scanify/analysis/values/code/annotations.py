"""What an annotation says of a value: for parameters, whose values come from the caller."""

import ast
import re

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values import tables
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.domain import (
    NONE,
    Array,
    Class,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Number,
    Text,
    Unknown,
    Value,
    join,
)
from scanify.analysis.values.heap import DictCell, Group, ListCell
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter
from scanify.analysis.watchers.tables import ARRAY_TYPES, KEY_TYPES

_KEY_NAME = re.compile(r"(^|_)(key|keys|rng|rngs|subkey|subkeys|k)\d*($|_)|^keys?\w?$")
_MANY_KEYS = re.compile(r"(keys|rngs|subkeys)\d*($|_)")


def key_name(name: str) -> bool:
    """Whether a name is one that everyone gives random keys: a wrong guess is an error when the stack is built."""
    return bool(_KEY_NAME.search(name))


def parameter(run: Interpreter, env: Env, name: str, annotation: ast.expr | None) -> Value:
    """What is known of a parameter: by its annotation, and of random keys by their name."""
    value = annotated(run, env, annotation, f"the parameter `{name}`") if annotation is not None else None
    if (value is None or isinstance(value, Unknown | Array)) and key_name(name):
        return Key(many=bool(_MANY_KEYS.search(name)))
    place = env.place(annotation) if annotation is not None else None
    return value if value is not None else Unknown(f"`{name}` comes from the caller", place, given=True)


def annotated(run: Interpreter, env: Env, node: ast.expr, what: str) -> Value | None:
    """What an annotation says of a value, None where it says nothing. `what` is the value in words."""
    node = unquoted(node)
    match node:
        case ast.Constant(value=None):
            return NONE
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _either(run, env, [left, right], what)
        case ast.Subscript(value=value, slice=inner):
            return _subscripted(run, env, node, value, inner, what)
        case ast.Name() | ast.Attribute():
            return _named(run, env, node, what)
        case _:
            return None


def unquoted(node: ast.expr) -> ast.expr:
    """An annotation that is written as a string, parsed; its nodes stand where the string does."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return node
    try:
        inner = ast.parse(node.value.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return node
    for each in nodes_in(inner):
        if isinstance(each, ast.expr):
            ast.copy_location(each, node)
    return inner


def _either(run: Interpreter, env: Env, nodes: list[ast.expr], what: str) -> Value | None:
    values = [annotated(run, env, node, what) for node in nodes]
    known = [value for value in values if value is not None]
    return join(known) if len(known) == len(values) and known else None


def _subscripted(
    run: Interpreter, env: Env, node: ast.Subscript, value: ast.expr, inner: ast.expr, what: str
) -> Value | None:
    last = (dotted(value) or "").rpartition(".")[2]
    parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
    if last == "Optional":
        return _either(run, env, [inner, ast.copy_location(ast.Constant(None), inner)], what)
    if last in ("Union",):
        return _either(run, env, parts, what)
    if last == "Literal":
        return _of_literals(parts)
    if last in tables.WRAPPERS_OF_TYPES:
        return annotated(run, env, parts[0], what)
    if last in tables.LIST_TYPES:
        return given_list(run, env, node, parts, last.lower() == "tuple", what)
    if last in tables.DICT_TYPES:
        return given_dict(run, env, node, parts[-1], what)
    if last in KEY_TYPES:
        return Key()
    if last in ARRAY_TYPES:
        return Array()
    return _named(run, env, value, what)


def _of_literals(parts: list[ast.expr]) -> Value | None:
    """`Literal["scalar"]`, `Literal[0, 1]`: of texts alone a text, of numbers alone a number."""
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    if len(values) == len(parts) and all(isinstance(value, str) for value in values):
        return Text()
    if len(values) == len(parts) and all(isinstance(value, int | float) for value in values):
        return Number()
    return None


def given_list(run: Interpreter, env: Env, node: ast.expr, parts: list[ast.expr], is_tuple: bool, what: str) -> Listed:
    """A list from elsewhere of which the annotation says what its elements are."""
    parts = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is ...)]
    cell = ListCell(node, env.module, 0, is_tuple=is_tuple, whole=False, given=what)
    cell.why = f"{what} comes from the caller"
    for part in parts:
        element = annotated(run, env, part, f"an element of {what}")
        if element is not None:
            cell.groups.append(Group(element, part, env.module, (), None))
    return Listed(cell)


def given_dict(run: Interpreter, env: Env, node: ast.expr, part: ast.expr, what: str) -> Mapped:
    """A dict from elsewhere of which the annotation says what its values are."""
    cell = DictCell(node, env.module, 0, whole=False, given=what, why=f"{what} comes from the caller")
    element = annotated(run, env, part, f"a value of {what}")
    if element is not None:
        cell.groups.append(Group(element, part, env.module, (), None))
    return Mapped(cell)


def _meaning(run: Interpreter, env: Env, name: str) -> object:
    """What a name in an annotation stands for: in the function around, or else in the file."""
    root, _, rest = name.partition(".")
    local = env.lookup(root)
    if local is None:
        return run.index.resolve(env.module, name)
    if isinstance(local, Library):
        return External(f"{local.qualname}.{rest}".rstrip("."))
    return local.definition if isinstance(local, Class) and not rest else None


def _named(run: Interpreter, env: Env, node: ast.expr, what: str) -> Value | None:
    name = dotted(node)
    if name is None:
        return None
    last = name.rpartition(".")[2]
    if name in tables.NUMBER_TYPES:
        return Number()
    if name == "str":
        return Text()
    if last in tables.LIST_TYPES and last not in ("Iterable", "Collection"):
        return given_list(run, env, node, [], last.lower() == "tuple", what)
    if last in tables.DICT_TYPES:
        return Mapped(DictCell(node, env.module, 0, whole=False, given=what, why=f"{what} comes from the caller"))
    meaning = _meaning(run, env, name)
    if isinstance(meaning, Definition) and isinstance(meaning.node, ast.ClassDef):
        from scanify.analysis.values.calls.construct import any_instance

        return any_instance(run, meaning, what)
    if isinstance(meaning, Definition) and isinstance(meaning.node, ast.Assign):
        return _aliased(run, meaning.module, meaning.node, what)
    qualname = meaning.qualname if isinstance(meaning, External) else ""
    if last in KEY_TYPES:
        return Key()
    if last in ARRAY_TYPES and qualname.partition(".")[0] in ("jax", "jaxtyping", "numpy", "chex", ""):
        return Array(numpy=qualname.startswith("numpy."))
    if qualname.startswith("equinox."):
        return Instance(Library(qualname), exact=False, origin=what)
    return None


def _aliased(run: Interpreter, module: Module, alias: ast.Assign, what: str) -> Value | None:
    """What another name for a type says; of one that is made of itself (`Tree = Array | list["Tree"]`) nothing."""
    if alias in run.opened:
        return None
    run.opened.append(alias)
    try:
        return annotated(run, run.module_env(module), alias.value, what)
    finally:
        run.opened.pop()
