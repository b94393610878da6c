"""Calls that make layers: the class that is called, by its name or through a local name for it."""

import ast

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.layer_list import Class
from scanify.analysis.lists.varies import Home
from scanify.analysis.lower.text import dotted

# Packages whose functions give numbers, texts, arrays and functions, and no modules.
COMPUTING = ("builtins.", "jax.", "numpy.", "math.", "random.", "functools.", "itertools.", "operator.")
# Functions that give a function.
TRANSFORMS = frozenset(
    "jax.jit jax.vmap jax.pmap jax.checkpoint jax.remat jax.named_call jax.grad jax.custom_jvp jax.custom_vjp "
    "functools.partial".split()
)


def called_class(home: Home, node: ast.Call) -> tuple[Class | None, list[tuple[str | None, ast.expr]]]:
    """Return the class that a call calls, None if that is not shown, and its arguments with their names."""
    given = [*((None, each) for each in node.args), *((each.arg or "**", each.value) for each in node.keywords)]
    found = class_meant(home, node.func)
    if found is None and isinstance(node.func, ast.Name) and home.is_local(node.func):
        values = [value for _, value in home.values_of(node.func.id)]
        value = values[0] if len(values) == 1 else None
        if isinstance(value, ast.Call) and home.library(value) == "functools.partial" and value.args:
            ahead = [(None, each) for each in value.args[1:]]
            given = [*ahead, *given, *((each.arg or "**", each.value) for each in value.keywords)]
            value = value.args[0]
        found = class_meant(home, value) if value is not None else None
    return found, given


def class_meant(home: Home, node: ast.expr) -> Class | None:
    """Return the class that a name stands for, through one assignment of the module: `Layer = eqx.nn.Linear`."""
    meaning = home.meaning(node)
    if isinstance(meaning, Definition) and isinstance(meaning.node, ast.Assign) and dotted(meaning.node.value):
        meaning = Home(home.project, meaning.module, None).meaning(meaning.node.value)
    if isinstance(meaning, External):
        known = home.project.classes.is_module(meaning)
        last = meaning.qualname.rpartition(".")[2]
        other = last[:1].isupper() and not meaning.qualname.startswith((*COMPUTING, "equinox."))
        return meaning if known or other else None
    return meaning if isinstance(meaning, Definition) and isinstance(meaning.node, ast.ClassDef) else None
