"""What conditions show of a name: which side runs where its value is known, and what it may be on each side of
`isinstance(name, int)`."""

import ast

from scanify.analysis.values.domain import Const, Listed, Mapped, Number, Text, Value, is_none, join, options
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

_LISTS = frozenset({"list", "tuple"})
_KINDS = frozenset("int float str list tuple dict".split())


def outcome(env: Env, test: ast.expr, value: Value) -> bool | None:
    """Whether a condition holds that compares a name with None, or is a local flag of this value; None if unknown."""
    match test:
        case ast.Compare(ast.Name(id=name), [ast.Is() | ast.IsNot() as op], [ast.Constant(value=None)]):
            compared = env.lookup(name)
            known = compared is not None and is_none(compared) and not compared.marks
            return isinstance(op, ast.Is) if known else None
        case ast.Name(id=name) if name in env.names and isinstance(value, Const) and not value.marks:
            return value.value if isinstance(value.value, bool) else None
        case _:
            return None


def narrowed(run: Interpreter, env: Env, test: ast.expr) -> tuple[str, Value, Value] | None:
    """The name that a condition asks for its class, and what it may be where it holds and where it does not.

    None where the condition asks something else, or what is known of the name leaves only one side.
    """
    match test:
        case ast.Call(ast.Name("isinstance"), [ast.Name(name), asked], []) if env.lookup("isinstance") is None:
            kinds = _kinds(asked)
        case _:
            return None
    value = env.names.get(name)
    if not kinds or value is None:
        return None
    found = [(option, _is_one(option, kinds)) for option in options(value)]
    yes = [option for option, answer in found if answer is not False]
    no = [option for option, answer in found if answer is not True]
    return (name, join(yes), join(no)) if yes and no and len(found) > 1 else None


def _kinds(asked: ast.expr) -> frozenset[str]:
    """The builtin classes that are asked for; empty where there are others."""
    parts = asked.elts if isinstance(asked, ast.Tuple) else [asked]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return frozenset(names) if len(names) == len(parts) and names <= _KINDS else frozenset()


def _is_one(value: Value, kinds: frozenset[str]) -> bool | None:
    """Whether a value is of one of some classes; None where that is not known."""
    match value:
        case Number():
            return True if "int" in kinds else None if "float" in kinds else False  # an int may stand for a float
        case Text():
            return "str" in kinds
        case Const():
            return type(value.value).__name__ in kinds or (isinstance(value.value, bool) and "int" in kinds)
        case Listed():
            plain = isinstance(value.cell.node, ast.List | ast.ListComp | ast.Tuple) and not value.cell.given
            return ("tuple" if value.cell.is_tuple else "list") in kinds if plain or not kinds & _LISTS else None
        case Mapped():
            return "dict" in kinds
        case _:
            return None
