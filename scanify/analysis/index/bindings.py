"""What the top level of a module binds: imports, stars, and the statements behind each name."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard


@dataclass(frozen=True)
class Import:
    """`from target import ...` or `import target`: the absolute dotted name that a local name stands for.

    `relative` says that it was written with dots, `checking` that only type checkers see it.
    """

    target: str
    relative: bool
    checking: bool


@dataclass
class Bindings:
    """The names that a module binds at its top level, in source order.

    A `global` statement in a function binds its names, too, to what is not shown.
    """

    imports: dict[str, list[Import]] = field(default_factory=dict)
    stars: list[Import] = field(default_factory=list)
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)


def bindings(tree: ast.Module, package: str, *, text: str) -> Bindings:
    """Collect what `tree`, the syntax tree of `text`, binds. `package` is what relative imports start from."""
    found = Bindings()
    scripts = {part for each in tree.body if _runs_as_script(each) for part in each.body}
    walrus = ":=" in text
    for statement, checking in _top_level(tree.body, False):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for local, imported in imported_names(statement, package, checking=checking):
                if local == "*" and statement in scripts:
                    continue  # whoever imports the file never sees what it brings
                if local == "*":
                    found.stars.append(imported)
                else:
                    found.imports.setdefault(local, []).append(imported)
            continue
        for name in dict.fromkeys(_bound(statement, walrus)):
            found.definitions.setdefault(name, []).append(statement)
    for node in ast.walk(tree) if "global " in text else ():
        if isinstance(node, ast.Global):
            for name in node.names:
                found.definitions.setdefault(name, []).append(node)
    return found


def imported_names(
    statement: ast.Import | ast.ImportFrom, package: str, *, checking: bool = False
) -> Iterator[tuple[str, Import]]:
    """The local names that an import binds; "*" for those that a star brings."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            # `import a.b` binds `a`; `import a.b as c` binds `c` to `a.b`.
            local = alias.asname or alias.name.partition(".")[0]
            yield local, Import(alias.name if alias.asname else local, False, checking)
        return
    origin = _origin(statement, package)
    for alias in statement.names:
        target = origin if alias.name == "*" else f"{origin}.{alias.name}" if origin else alias.name
        yield alias.asname or alias.name, Import(target, statement.level > 0, checking)


def _origin(statement: ast.ImportFrom, package: str) -> str:
    parts = package.split(".") if package else []
    above = parts[: len(parts) - (statement.level - 1)] if statement.level else []
    return ".".join([*above, *((statement.module,) if statement.module else ())])


def _top_level(body: Iterable[ast.stmt], checking: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements that run when the module is imported, with whether only type checkers see them."""
    for statement in body:
        yield statement, checking
        match statement:
            case ast.If():
                guarded = _type_checking(statement.test)
                yield from _top_level(statement.body, checking or guarded)
                yield from _top_level(statement.orelse, checking)
            case ast.For() | ast.While() | ast.AsyncFor():
                yield from _top_level([*statement.body, *statement.orelse], checking)
            case ast.With() | ast.AsyncWith():
                yield from _top_level(statement.body, checking)
            case ast.Try() | ast.TryStar():
                handled = [each for handler in statement.handlers for each in handler.body]
                inside = [*statement.body, *handled, *statement.orelse, *statement.finalbody]
                yield from _top_level(inside, checking)
            case ast.Match():
                yield from _top_level([each for case in statement.cases for each in case.body], checking)
            case _:
                pass


def _runs_as_script(statement: ast.stmt) -> TypeGuard[ast.If]:
    """Whether it is `if __name__ == "__main__":`."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), comparators=[ast.Constant(value="__main__")])):
            return True
        case _:
            return False


def _type_checking(test: ast.expr) -> bool:
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")) == "TYPE_CHECKING"


def _bound(statement: ast.stmt, walrus: bool) -> Iterator[str]:
    match statement:
        case ast.ClassDef():
            yield statement.name
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if not any(_last(each) == "overload" for each in statement.decorator_list):
                yield statement.name
            return
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            yield from (name for target in targets for name in names_of(target))
        case ast.AnnAssign(value=None):
            pass
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield from names_of(target)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from names_of(target)
        case ast.With() | ast.AsyncWith():
            for item in statement.items:
                yield from names_of(item.optional_vars) if item.optional_vars is not None else ()
        case ast.Try() | ast.TryStar():
            yield from (handler.name for handler in statement.handlers if handler.name is not None)
        case ast.Match():
            yield from (name for case in statement.cases for name in _captured(case.pattern))
        case _ if type(statement).__name__ == "TypeAlias":
            yield from names_of(getattr(statement, "name"))  # noqa: B009  # Python 3.11 has no such statement
        case _:
            pass
    if walrus:
        for part in _own_expressions(statement):
            yield from (node.target.id for node in ast.walk(part) if isinstance(node, ast.NamedExpr))


def names_of(target: ast.expr) -> Iterator[str]:
    """The names that an assignment to `target` binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Starred):
        yield from names_of(target.value)
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from names_of(element)


def _captured(pattern: ast.pattern) -> Iterator[str]:
    for node in ast.walk(pattern):
        name = node.rest if isinstance(node, ast.MatchMapping) else getattr(node, "name", None)
        if isinstance(name, str):
            yield name


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without those of the statements in its blocks."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr | ast.withitem):
            yield child


def _last(decorator: ast.expr) -> str | None:
    return decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", None)
