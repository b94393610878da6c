"""Whether the list that a loop fills is created empty above it: `outputs = []`."""

import ast

from scanify.analysis.plan import Plan
from scanify.emit.loops.enclosing import module
from scanify.emit.text.loop_text import LoopText

_BLOCKS = ("body", "orelse", "finalbody")


def made_empty(plan: Plan, loop: LoopText, text: str) -> bool:
    """True if the one list that a loop fills is created empty in the loop's block, and not mentioned in between.

    Then it can be assigned as a whole, and the statement that creates it is dead.
    """
    parsed = module(text) if len(plan.collections) == 1 else None
    around = (
        [node for node in parsed.around(loop.start, loop.start + 1) if isinstance(node, ast.stmt)] if parsed else []
    )
    if parsed is None or len(around) < 2 or parsed.start(around[-1]) != loop.start:
        return False
    name = plan.collections[0].name
    blocks = (getattr(around[-2], field, None) for field in _BLOCKS)
    block = next((each for each in blocks if isinstance(each, list) and around[-1] in each), [])
    for statement in reversed(block[: block.index(around[-1])] if block else []):
        if any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement)):
            return is_empty_list(statement, name)
    return False


def is_empty_list(statement: ast.stmt, name: str) -> bool:
    """`name = []`."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=found)], value=ast.List(elts=[])):
            return found == name
    return False
