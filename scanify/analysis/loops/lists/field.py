"""The field that holds a list of layers: whether it keeps what is assigned to it."""

import ast

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import External
from scanify.analysis.index.module import Module
from scanify.analysis.lower.text import dotted
from scanify.analysis.values.classes import Field
from scanify.analysis.values.run.interpreter import Interpreter


def changes_what_is_assigned(run: Interpreter, name: str, field: Field) -> tuple[str, Place] | None:
    """Why a field may hold something else than what is assigned to it, or hides it from gradients."""
    made, module = field.default, field.owner.module
    if not isinstance(made, ast.Call):
        return None
    if not _is_of_library(run, module, made.func):
        reason = f"the field `{name}` is made by `{ast.unparse(made.func)}`, which may convert what is assigned"
        return reason, module.place(made)
    for keyword in made.keywords:
        static = keyword.arg == "static" and not (
            isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        )
        if keyword.arg == "converter" or static:
            return f"the field `{name}` has `{keyword.arg}={ast.unparse(keyword.value)}`", module.place(made)
    return None


def copies_what_is_assigned(run: Interpreter, field: Field) -> bool:
    """Whether a field does no more with what is assigned than to make a list or a tuple of it."""
    made, module = field.default, field.owner.module
    if not isinstance(made, ast.Call) or not _is_of_library(run, module, made.func):
        return False
    if any(each.arg == "static" for each in made.keywords):
        return False
    found = [each.value for each in made.keywords if each.arg == "converter"]
    meanings = [run.index.resolve(module, dotted(each) or "?") for each in found]
    return bool(meanings) and all(
        isinstance(each, External) and each.qualname in ("builtins.list", "builtins.tuple") for each in meanings
    )


def _is_of_library(run: Interpreter, module: Module, function: ast.expr) -> bool:
    """Whether a function is one outside of the project: `equinox.field`, `dataclasses.field`, `tuple`."""
    name = dotted(function)
    return name is not None and isinstance(run.index.resolve(module, name), External)
