"""The calls of a file that a rule on scans may be about: found by their names before anything else is read of them."""

import ast
from collections.abc import Iterator

from scanify.analysis.index import Module
from scanify.analysis.lower.nodes import nodes_in

# The last parts of the names of the functions that rules are about, and of the methods of stacks.
_FUNCTIONS = frozenset(
    """scan remat_scan init partial remat checkpoint filter_checkpoint merge save_only_these_names
    save_and_offload_only_these_names ScanCheckpointPolicy vmap filter_vmap tree_at Stacked ArrayStacked
    BlockSeq""".split()
)
_METHODS = frozenset("fold fold_via scan_via".split())
_WORDS = ("scan", "these_names", "ScanCheckpointPolicy", "merge", "vmap", "remat")
_OF_STACKS = ("Stacked", "BlockSeq", "fold", "tree_at")


def candidates(module: Module, *, stacks: bool) -> Iterator[ast.Call]:
    """Yield such calls; `stacks` is true if the project knows a stack of layers at all."""
    if not any(word in module.text for word in (*_WORDS, *(_OF_STACKS if stacks else ()))):
        return
    imports = module.imports.items()
    names = _FUNCTIONS | {name for name, target in imports if target.rpartition(".")[2] in _FUNCTIONS}
    names |= _METHODS if stacks else frozenset()
    for node in nodes_in(module.tree):
        if isinstance(node, ast.Call) and (_last(node.func) in names or _is_given_a_slice(node)):
            yield node


def _last(function: ast.expr) -> str:
    """The last name of what is called: `vmap` of `jax.vmap(f)(x)`."""
    inner = function.func if isinstance(function, ast.Call) else function
    return inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")


def _is_given_a_slice(call: ast.Call) -> bool:
    """`build(keys[1:-1])`, where a name stands for a function that is mapped."""
    return any(isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Slice) for each in call.args)
