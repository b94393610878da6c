"""The statements of a block of code, including nested ones, and the values that they bind to names."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.lower.bound import BLOCKS, bound_by


def statements_in(statements: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield all statements of a block and of the blocks in it, in source order, without nested definitions."""
    for statement in statements:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in BLOCKS:
                inner = getattr(statement, name, None)
                if isinstance(inner, list):
                    yield from statements_in(inner)


def blocks_in(block: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    """Yield a block and the blocks in it, without nested definitions."""
    yield block
    for statement in block:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in BLOCKS:
                inner = getattr(statement, name, None)
                if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                    yield from blocks_in(inner)


def assignments(statements: Sequence[ast.AST], name: str) -> list[ast.AST]:
    """Return every statement, at any depth of blocks but not in nested functions, that binds a plain name."""
    return [statement for statement in statements_in(statements) if name in bound_by(statement)]


def value_given(statement: ast.AST, name: str) -> list[ast.expr]:
    """Return the values that an assignment binds to a name; empty if unknown."""
    match statement:
        case ast.Assign():
            pairs = [pair for target in statement.targets for pair in given_to(target, statement.value)]
        case ast.AnnAssign() if statement.value is not None:
            pairs = [(statement.target, statement.value)]
        case _:
            return []
    return [value for target, value in pairs if isinstance(target, ast.Name) and target.id == name]


def given_to(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return pairs of target and value, one for each target if several values are unpacked into several targets."""
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
        return [(target, value)]
    elements = (*target.elts, *value.elts)
    if len(target.elts) != len(value.elts) or any(isinstance(each, ast.Starred) for each in elements):
        return []
    return [pair for each, other in zip(target.elts, value.elts, strict=True) for pair in given_to(each, other)]


def appended_to(statement: ast.AST, name: str) -> ast.expr | None:
    """Return the one element that a statement appends to a list, None if it does anything else."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=found), "append"), [value], [])) | ast.AugAssign(
            ast.Name(id=found), ast.Add(), ast.List(elts=[value])
        ) if found == name and not isinstance(value, ast.Starred):
            return value
        case _:
            return None
