"""The statements of a block of code, with those of the blocks in it."""

from collections.abc import Sequence

import libcst as cst


def blocks(statements: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
    """All statements of a block and of the blocks in it, in source order, without those of nested definitions."""
    found: list[cst.CSTNode] = []
    for statement in statements:
        match statement:
            case cst.SimpleStatementLine():
                found.extend(statement.body)
            case cst.FunctionDef() | cst.ClassDef():
                found.append(statement)
            case _:
                found.append(statement)
                found.extend(blocks(_inner(statement)))
    return found


def _inner(statement: cst.CSTNode) -> list[cst.CSTNode]:
    inner: list[cst.CSTNode] = []
    body = getattr(statement, "body", None)
    if isinstance(body, cst.BaseSuite):
        inner.extend(body.body)
    rests = (getattr(statement, name, None) for name in ("orelse", "finalbody"))
    inner.extend(rest for rest in rests if rest is not None)
    inner.extend(getattr(statement, "handlers", ()))
    inner.extend(getattr(statement, "cases", ()))
    return inner
