"""Which classes are modules of Flax Linen, and which calls build one."""

import ast
from dataclasses import dataclass

from scanify.analysis.classes.classes import Classes
from scanify.analysis.flow.statements import assignments, value_given
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.project import Index
from scanify.analysis.lower.scope import Scope, inner_scope
from scanify.analysis.lower.text import dotted

PACKAGE = "flax.linen."
# What wraps a class of modules so that instances of it are applied alike: flax.linen.transforms, 0.12.
_REMAT = frozenset({"remat", "checkpoint"})
_LIFTED = frozenset({*_REMAT, "jit"})
_DEEPEST = 10  # names of one another, and classes wrapped in one another: more are a circle


@dataclass(frozen=True, eq=False)
class Built:
    """A call that builds a module: the name of its class, and how the class was wrapped on the way ("" where not)."""

    call: ast.Call
    name: str
    wrapped: str = ""

    @property
    def remat(self) -> bool:
        """Whether its class is one of `nn.remat`."""
        return self.wrapped in _REMAT


class LinenClasses:
    """What the index says of modules of Flax Linen."""

    def __init__(self, index: Index) -> None:
        self.index, self.classes = index, Classes(index)

    def is_linen(self, meaning: object) -> bool:
        """Whether a class is a module of Flax Linen, through any number of base classes of the project."""
        if isinstance(meaning, External):
            name = meaning.qualname
            return name.startswith(PACKAGE) and name.removeprefix(PACKAGE)[:1].isupper()
        if not isinstance(meaning, Definition) or not isinstance(meaning.node, ast.ClassDef):
            return False
        return any(
            isinstance(base, External) and self.is_linen(base)
            for owner in self.classes.lineage(meaning)
            for base in self.classes.bases(owner)
        )

    def built(self, scope: Scope, node: ast.AST) -> Built | None:
        """The module that a call builds, if it builds one."""
        if not isinstance(node, ast.Call):
            return None
        found = self._wrapped(scope, node.func)
        return Built(node, *found) if found is not None else None

    def _wrapped(self, scope: Scope, called: ast.expr, depth: int = 0) -> tuple[str, str] | None:
        """The name of the class that an expression stands for, and what of flax wraps it."""
        if depth > _DEEPEST:
            return None
        if isinstance(called, ast.Call):
            lifted = self._flax(scope, called.func)
            inner = self._wrapped(scope, called.args[0], depth + 1) if lifted in _LIFTED and called.args else None
            return (inner[0], inner[1] or lifted) if inner is not None else None
        name = dotted(called)
        if name is None:
            return None
        holder = scope.binding(name.partition(".")[0])
        if holder is not None and holder.parent is not None:
            given = self._given(holder, name)
            return self._wrapped(scope, given, depth + 1) if given is not None else None
        meaning = self.index.resolve(scope.module, name)
        if isinstance(meaning, Definition) and isinstance(meaning.node, ast.Assign):  # `Layer = nn.remat(Block)`
            return self._wrapped(inner_scope(meaning.module, meaning.module.tree), meaning.node.value, depth + 1)
        return (name.rpartition(".")[2], "") if self.is_linen(meaning) else None

    def _flax(self, scope: Scope, called: ast.expr) -> str:
        """The last part of a name of flax.linen: `remat` of `flax.linen.remat` and of `flax.linen.partitioning.remat`,
        also where the file gives it another name."""
        name = dotted(called)
        holder = scope.binding(name.partition(".")[0]) if name is not None else None
        if name is None or (holder is not None and holder.parent is not None):
            return ""
        meaning = self.index.resolve(scope.module, name)
        if isinstance(meaning, Definition) and isinstance(meaning.node, ast.Assign):
            known = dotted(meaning.node.value)
            meaning = self.index.resolve(meaning.module, known) if known is not None else None
        found = meaning.qualname if isinstance(meaning, External) else ""
        return found.rpartition(".")[2] if found.startswith(PACKAGE) else ""

    def _given(self, holder: Scope, name: str) -> ast.expr | None:
        """What a local name is assigned, where that is one thing: `BlockClass = nn.remat(Block)`."""
        body = getattr(holder.node, "body", None)
        if not isinstance(body, list) or name in holder.params:
            return None
        values = [value_given(each, name) for each in assignments(body, name)]
        return values[0][0] if len(values) == 1 and len(values[0]) == 1 else None
