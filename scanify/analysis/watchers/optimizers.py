"""Optimizers and their parts that treat each leaf as one thing, by their names."""

import ast
import re

from scanify.analysis.index import Module
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.names import imported_in_place
from scanify.analysis.watchers.tables import (
    OPTAX_ASIDE,
    OPTAX_ENDS,
    OPTAX_HARMLESS,
    OPTAX_PACKAGES,
    OPTAX_PER_LEAF,
    PER_LEAF_PACKAGES,
)

_PATH = re.compile(r"optax(?:[.:][a-z]\w*)*")
_FIELDS = (".__dict__", ".__getattribute__")
_TEXTS = (".__version__", ".__name__", ".__file__", ".__doc__")


def optimizer_reads(qualname: str) -> str | None:
    """Return what a function of an optimizer library reads of each leaf; None if it reads nothing."""
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


def mentioned_reads(qualname: str, above: ast.AST | None) -> str | None:
    """Return what may be read by an optimizer, or by any of a package, that is not called where it is named."""
    if qualname.endswith(_TEXTS):
        return None
    package = next((qualname.removesuffix(end) for end in _FIELDS if qualname.endswith(end)), qualname)
    if package not in OPTAX_PACKAGES and package not in PER_LEAF_PACKAGES:
        return optimizer_reads(qualname)
    match above:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return optimizer_reads(f"{package}.{name}")
        case ast.Call(func=ast.Name(id="hasattr" | "print" | "repr" | "str" | "id") | ast.Attribute(attr="reload")):
            return None
        case _:
            return f"an optimizer of `{package}` that is chosen as the program runs"


def text_reads(module: Module, node: ast.Constant) -> str | None:
    """Return what an optimizer reads whose path is a text, as in settings that name it: "optax.contrib:dpsgd"."""
    path = node.value.replace(":", ".") if isinstance(node.value, str) and _PATH.fullmatch(node.value) else ""
    return mentioned_reads(path, None) if path and not _names_a_release(module, node) else None


def _names_a_release(module: Module, node: ast.Constant) -> bool:
    """True for `version("optax")`, `import_module("optax").adam`, and a text in a list, which imports nothing."""
    above = parent_of(module, node)
    if not isinstance(above, ast.Call):
        return not isinstance(above, ast.Assign | ast.keyword | ast.AnnAssign | ast.Dict | ast.Return)
    name = (dotted(above.func) or "").rpartition(".")[2]
    return name in ("version", "find_spec", "importorskip", "print") or imported_in_place(above) is not None
