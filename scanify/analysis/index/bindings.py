"""Names bound at the top level of a module: imports, stars, and the statements behind each name."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from scanify.analysis.lower.bound import BLOCKS, bound_by
from scanify.analysis.lower.nodes import by_kind


@dataclass(frozen=True)
class Import:
    """`from target import ...` or `import target`: the absolute dotted name behind a local name.

    `relative`: it was written with dots; `checking`: only type checkers see it.
    """

    target: str
    relative: bool
    checking: bool


@dataclass
class Bindings:
    """The names that a module binds at its top level, in source order.

    A name that a function declares `global` is in `rebound`: its value is unknown.
    """

    imports: dict[str, list[Import]] = field(default_factory=dict)
    stars: list[Import] = field(default_factory=list)
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    rebound: set[str] = field(default_factory=set)


def bindings(tree: ast.Module, package: str) -> Bindings:
    """Collect the names that a module binds. `package` is the base of relative imports."""
    found = Bindings()
    for statement, checking in _top_level(tree, False):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for local, imported in imported_names(statement, package, checking=checking):
                if local == "*":
                    found.stars.append(imported)
                else:
                    found.imports.setdefault(local, []).append(imported)
        elif not any(_last(each) == "overload" for each in getattr(statement, "decorator_list", ())):
            for name in sorted(bound_by(statement)):
                found.definitions.setdefault(name, []).append(statement)
    for node in by_kind(tree)[ast.Global]:
        found.rebound.update(node.names)
        for name in node.names:
            found.definitions.setdefault(name, []).append(node)
    return found


def imported_names(
    statement: ast.Import | ast.ImportFrom, package: str, *, checking: bool = False
) -> Iterator[tuple[str, Import]]:
    """Yield the local names that an import binds; "*" for a star import."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            # `import a.b` binds `a`; `import a.b as c` binds `c` to `a.b`.
            local = alias.asname or alias.name.partition(".")[0]
            yield local, Import(alias.name if alias.asname else local, False, checking)
        return
    parts = package.split(".") if package else []
    above = parts[: len(parts) - (statement.level - 1)] if statement.level else []
    origin = ".".join([*above, *((statement.module,) if statement.module else ())])
    for alias in statement.names:
        target = origin if alias.name == "*" else f"{origin}.{alias.name}" if origin else alias.name
        yield alias.asname or alias.name, Import(target, statement.level > 0, checking)


def _top_level(node: ast.AST, checking: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield statements, handlers and cases run on import, each with True if only type checkers see it."""
    for name in BLOCKS:
        guarded = name == "body" and isinstance(node, ast.If) and _last(node.test) == "TYPE_CHECKING"
        for statement in getattr(node, name, ()):
            yield statement, checking or guarded
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _top_level(statement, checking or guarded)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
