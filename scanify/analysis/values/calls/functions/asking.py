"""Functions that ask jax how they are transformed: whether an operand is batched, or whether it is differentiated.

A scan answers otherwise than the loop that it replaces: its carry is batched, and differentiated, in the first layer
already where it is in any (`_scan_batching_rule` and `_scan_jvp` in jax/_src/lax/control_flow/loops.py go to a fixed
point).
"""

import ast

from scanify.analysis.lower.nodes import mentions, nodes_in
from scanify.analysis.lower.text import dotted
from scanify.analysis.values.domain import Function

_RULES = ("defjvp", "defvjp", "def_vmap", "def_fwd", "def_bwd")


def asks(function: Function, transform: str) -> bool:
    """Whether a function that the library's `transform` transforms asks jax something of its operands.

    A rule for batches says what it is asked for. Rules of derivatives ask where they are told of zeros that are
    symbolic, or read which operands are perturbed.
    """
    last = transform.rpartition(".")[2]
    if last == "custom_vmap":
        return True
    if last not in ("custom_jvp", "custom_vjp", "filter_custom_vjp"):
        return False
    module = function.env.module
    told = module.writes("symbolic_zeros") or module.writes("perturbed")
    return told and any(_asks(each, function) for each in nodes_in(module.tree))


def _asks(node: ast.AST, function: Function) -> bool:
    """Whether a node gives `function` a rule that asks: `f.defvjp(..., symbolic_zeros=True)`, `@f.def_fwd`."""
    if isinstance(node, ast.FunctionDef):
        given = [each for each in node.decorator_list if _is_rule_of(each, function)]
        return any(map(_symbolic, given)) or (bool(given) and _reads_perturbed(node))
    if not isinstance(node, ast.Call) or not _is_rule_of(node.func, function):
        return False
    return _symbolic(node) or any(map(_reads_perturbed, _named_in(node, function)))


def _is_rule_of(node: ast.AST, function: Function) -> bool:
    """`f.defjvp`, also in `partial(f.defjvp, symbolic_zeros=True)`."""
    names = [dotted(each) or "" for each in nodes_in(node) if isinstance(each, ast.Attribute) and each.attr in _RULES]
    return any(name.split(".")[-2:-1] == [function.name] for name in names)


def _symbolic(node: ast.AST) -> bool:
    """Whether a call says `symbolic_zeros=True`, or does not show that it says False."""
    said = (each.value for each in nodes_in(node) if isinstance(each, ast.keyword) and each.arg == "symbolic_zeros")
    return any(not (isinstance(value, ast.Constant) and not value.value) for value in said)


def _named_in(node: ast.Call, function: Function) -> list[ast.FunctionDef]:
    names = {each.id for each in node.args if isinstance(each, ast.Name)}
    tree = function.env.module.tree
    return [each for each in nodes_in(tree) if isinstance(each, ast.FunctionDef) and each.name in names]


def _reads_perturbed(rule: ast.FunctionDef) -> bool:
    """Equinox gives its rules `perturbed`: of `def_fwd` the first parameter, of `def_bwd` the third."""
    names = [each.arg for each in rule.args.args if "perturbed" in each.arg]
    return any(mentions(name, *rule.body) for name in names)
