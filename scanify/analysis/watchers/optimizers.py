"""Optimizers and their parts that treat each leaf as one thing."""

import ast
import re
from collections.abc import Iterator

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.names import callee, imported_in_place
from scanify.analysis.watchers.rules import rule_of_optimizer
from scanify.analysis.watchers.tables import (
    OPTAX_ASIDE,
    OPTAX_ENDS,
    OPTAX_HARMLESS,
    OPTAX_PACKAGES,
    OPTAX_PER_LEAF,
    PER_LEAF_PACKAGES,
)
from scanify.analysis.watchers.watcher import Watcher

_PATH = re.compile(r"optax(?:[.:][a-z]\w*)*")
_OF_MODULES = frozenset({"__dict__", "__getattribute__", "__version__", "__name__", "__file__"})


def optimizer_reads(qualname: str) -> str | None:
    """What a function of an optimizer library reads of each leaf, by its qualified name; None where nothing."""
    package, _, name = qualname.partition(".")
    if package in PER_LEAF_PACKAGES:
        return PER_LEAF_PACKAGES[package]
    if package != "optax" or not name:
        return None
    for prefix in ("transforms.", "transform.", "alias."):
        name = name.removeprefix(prefix)
    if name in OPTAX_PER_LEAF:
        return OPTAX_PER_LEAF[name]
    if name in OPTAX_HARMLESS or name.startswith(OPTAX_ASIDE) or name.endswith(OPTAX_ENDS) or name[0].isupper():
        return None
    return f"`{qualname}`, which is not known to treat each number by itself"


def optimizers_named(index: Index, module: Module, root: ast.Name | ast.Call, aliases: set[str]) -> Iterator[Watcher]:
    """Optimizers that are not called where they are named, from the name of their package or its import on: those in a
    table, and any that a string chooses, `getattr(optax, name)`.
    """
    node: ast.expr = root
    if isinstance(root, ast.Call):
        if imported_in_place(root) is None:
            return
    elif root.id not in aliases or not isinstance(root.ctx, ast.Load):
        return
    above = parent_of(module, node)
    while isinstance(above, ast.Attribute) and above.attr not in _OF_MODULES:
        node, above = above, parent_of(module, above)
    if isinstance(above, ast.Call) and above.func is node and isinstance(root, ast.Name):
        return  # as calls are
    known = callee(index, module, node)
    if not isinstance(known, str) or (isinstance(above, ast.Attribute) and above.attr == "__version__"):
        return
    reads = _any_of(known, above) if known in OPTAX_PACKAGES or known in PER_LEAF_PACKAGES else optimizer_reads(known)
    if reads is not None:
        yield Watcher(module.place(node), reads, rule=rule_of_optimizer(reads))


def optimizers_in_text(module: Module, node: ast.Constant) -> Iterator[Watcher]:
    """An optimizer whose path is a text that something imports, as in files of settings: "optax.contrib:dpsgd"."""
    path = node.value.replace(":", ".") if isinstance(node.value, str) and _PATH.fullmatch(node.value) else ""
    if not path or _names_a_release(module, node):
        return
    reads = _any_of(path, None) if path in OPTAX_PACKAGES else optimizer_reads(path)
    if reads is not None:
        yield Watcher(module.place(node), reads, rule=rule_of_optimizer(reads))


def _names_a_release(module: Module, node: ast.Constant) -> bool:
    """True for `version("optax")`, `import_module("optax").adam`, and a text in a list, which imports nothing."""
    above = parent_of(module, node)
    if not isinstance(above, ast.Call):
        return not isinstance(above, ast.Assign | ast.keyword | ast.AnnAssign | ast.Dict | ast.Return)
    name = (dotted(above.func) or "").rpartition(".")[2]
    return name in ("version", "find_spec", "importorskip", "print") or imported_in_place(above) is not None


def _any_of(package: str, above: ast.AST | None) -> str | None:
    """What a package of optimizers as a value may read: whatever it is asked for."""
    match above:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return optimizer_reads(f"{package}.{name}")
        case ast.Call(func=ast.Name(id="hasattr" | "print" | "repr" | "str" | "id")):
            return None
        case ast.Call(func=ast.Attribute(attr="reload")):
            return None
        case _:
            return f"an optimizer of `{package}` that is chosen as the program runs"
