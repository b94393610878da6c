"""Which values differ from layer to layer, and whether only as PRNG keys do.

Layers built with different keys have the same structure, so they can be stacked; layers built with different numbers,
sizes or names perhaps not. Names count as keys by where they come from (`jax.random.split`) or, for parameters, by
the name that everyone gives them: a wrong guess is a loud error when the stack is built, never a wrong result.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum

import libcst as cst

from scanify.analysis.children import children
from scanify.analysis.code import code_of
from scanify.analysis.names import target_names
from scanify.analysis.project import External, Project, dotted
from scanify.analysis.where import Where, assignments

_KEY_NAME = re.compile(r"(^|_)(key|keys|rng|rngs|subkey|subkeys|k)\d*($|_)|^keys?\w?$")
_KEY_FUNCTIONS = {
    f"jax.random.{name}" for name in ("split", "fold_in", "key", "PRNGKey", "wrap_key_data", "clone", "bits")
}


_MAX_NAMES = 4  # names that stand for names; more is not how keys are passed on


class Variety(Enum):
    """How a value differs between layers: as a key does, or in a way that may change the structure."""

    KEY = "key"
    VALUE = "value"


Environment = Mapping[str, Variety]


def qualified(project: Project, at: Where, node: cst.CSTNode) -> str | None:
    """The qualified name outside the project that a dotted expression stands for, None where it is local or unknown."""
    name = dotted(node)
    if name is None or name.partition(".")[0] in at.locals:
        return None
    meaning = project.resolve(at.module, name)
    return meaning.qualname if isinstance(meaning, External) else None


def key_name(name: str) -> bool:
    """Whether a name is one that everyone gives keys."""
    return bool(_KEY_NAME.search(name))


def is_key_call(project: Project, at: Where, node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and qualified(project, at, node.func) in _KEY_FUNCTIONS


def is_keys(project: Project, at: Where, node: cst.CSTNode, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is a PRNG key or a sequence of them. `seen` are the names on the way to it."""
    match node:
        case cst.Call():
            if is_key_call(project, at, node):
                return True
            plain = dotted(node.func) in ("list", "iter", "tuple", "next", "reversed") and bool(node.args)
            return plain and is_keys(project, at, node.args[0].value, seen)
        case cst.Subscript():
            return is_keys(project, at, node.value, seen)
        case cst.Name():
            return _named_key(project, at, node.value, seen)
        case cst.Attribute():
            return bool(_KEY_NAME.search(node.attr.value))
        case cst.IfExp():
            return is_keys(project, at, node.body, seen) or is_keys(project, at, node.orelse, seen)
        case _:
            return False


def _named_key(project: Project, at: Where, name: str, seen: frozenset[str]) -> bool:
    if key_name(name):
        return True
    if name in seen or len(seen) > _MAX_NAMES:
        return False
    values = (
        statement.value
        for statement in assignments(at.body(), name)
        if isinstance(statement, cst.Assign | cst.AnnAssign) and statement.value is not None
    )
    return any(is_keys(project, at, value, seen | {name}) for value in values)


def bind_iteration(
    project: Project, at: Where, target: cst.CSTNode, iterated: cst.CSTNode, environment: dict[str, Variety]
) -> None:
    """Note how the targets of `for target in iterated` vary."""
    call = dotted(iterated.func) if isinstance(iterated, cst.Call) else None
    if isinstance(iterated, cst.Call) and call in ("zip", "enumerate") and isinstance(target, cst.Tuple):
        parts: list[cst.CSTNode | None] = [arg.value for arg in iterated.args if arg.keyword is None]
        if call == "enumerate":
            parts = [None, *parts[:1]]
        for element, part in zip(target.elements, parts, strict=False):
            if part is None:
                _bind(element.value, Variety.VALUE, environment)
            else:
                bind_iteration(project, at, element.value, part, environment)
        return
    _bind(target, Variety.KEY if is_keys(project, at, iterated) else Variety.VALUE, environment)


def _bind(target: cst.CSTNode, variety: Variety, environment: dict[str, Variety]) -> None:
    for name in target_names(target):
        environment[name] = variety


def culprit(project: Project, at: Where, node: cst.CSTNode, environment: Environment) -> str | None:
    """The first name in an expression through which it may differ between layers otherwise than as a key does."""
    match node:
        case cst.Name():
            return node.value if environment.get(node.value) is Variety.VALUE else None
        case cst.Attribute():
            return culprit(project, at, node.value, environment)
        case cst.Subscript():
            if is_keys(project, at, node.value):
                return None
        case cst.Call():
            if is_key_call(project, at, node):
                return None
            if qualified(project, at, node.func) == "functools.partial":
                return code_of(node)
        case cst.Lambda():
            return code_of(node)  # a function made anew for each layer, equal to no other
        case cst.Arg():
            return culprit(project, at, node.value, environment)
        case _:
            pass
    return first_culprit(project, at, children(node), environment)


def first_culprit(project: Project, at: Where, nodes: Sequence[cst.CSTNode], environment: Environment) -> str | None:
    for node in nodes:
        if (found := culprit(project, at, node, environment)) is not None:
            return found
    return None
