"""Whether what a loop carries are sums alone: then its layers are independent of one another."""

from collections.abc import Iterator, Sequence

import libcst as cst

from scanify.analysis.children import children
from scanify.analysis.names import body_of, reads
from scanify.analysis.project import dotted


def only_sums(loop: cst.For, carry: Sequence[str]) -> bool:
    """Whether every name of the carry is added to, by `total += y` or `total = total + y`, and not read otherwise."""
    statements = list(_small(body_of(loop.body)))
    return all(_is_sum(statements, loop, name) for name in carry)


def _is_sum(statements: Sequence[cst.CSTNode], loop: cst.For, name: str) -> bool:
    added = [term for one in statements for term in _terms(one, name)]
    mentions = sum(_count(one, name) for one in body_of(loop.body))
    return bool(added) and mentions == sum(added) and name not in reads(loop.iter)


def _terms(statement: cst.CSTNode, name: str) -> Iterator[int]:
    """How often a statement that adds to `name` mentions it: once, or twice where it is written out."""
    match statement:
        case cst.AugAssign(target=cst.Name(value=target), operator=cst.AddAssign()) if target == name:
            yield 1
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(value=target))],
            value=cst.BinaryOperation(left=left, operator=cst.Add(), right=right),
        ) if target == name and name in (dotted(left), dotted(right)):
            yield 2


def _count(node: cst.CSTNode, name: str) -> int:
    if isinstance(node, cst.Name):
        return int(node.value == name)
    hidden = node.attr if isinstance(node, cst.Attribute) else node.keyword if isinstance(node, cst.Arg) else None
    return sum(_count(child, name) for child in children(node) if child is not hidden)


def _small(statements: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """The statements of a block that every turn runs, one by one."""
    for statement in statements:
        if isinstance(statement, cst.SimpleStatementLine):
            yield from statement.body
        else:
            yield statement
