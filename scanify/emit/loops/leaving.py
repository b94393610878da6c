"""The statements that end an iteration early: `continue`, `break` and `return`."""

from collections.abc import Iterator, Sequence

import libcst as cst

Leaving = cst.Break | cst.Continue | cst.Return


def leaving(statements: Sequence[cst.CSTNode], *, inner: bool = False) -> Iterator[Leaving]:
    """Yield the statements of a loop's body that end an iteration early.

    `inner`: the statements are in a nested loop, whose `break` and `continue` are its own.
    """
    for node in statements:
        match node:
            case cst.SimpleStatementLine() | cst.IndentedBlock() | cst.SimpleStatementSuite():
                yield from leaving(node.body, inner=inner)
            case cst.Else() | cst.With():
                yield from leaving([node.body], inner=inner)
            case cst.Return():
                yield node
            case cst.Break() | cst.Continue() if not inner:
                yield node
            case cst.If():
                yield from leaving([node.body, *([node.orelse] if node.orelse else [])], inner=inner)
            case cst.For():
                yield from leaving([node.body], inner=True)
            case _:
                pass
