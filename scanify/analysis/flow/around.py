"""The code around a loop: names that it reads from the loop, and handlers of the loop's exceptions."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.flow.names import Names, flow, reads
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, own_nodes

_FRAME_READERS = frozenset("locals vars eval exec".split())
_CATCHERS = frozenset(("contextlib.suppress", "pytest.raises"))
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_CLOSURES = (*FUNCTIONS, ast.Lambda, ast.GeneratorExp, ast.ClassDef)
_CATCHES = "around the loop catches its exceptions; a scan raises them before any layer has run"
_OUT = "check what may be wrong before the loop, and keep the loop out of the handler"
_BLOCKS = ("body", "orelse", "finalbody")


def caught(loop: Loop) -> Iterator[Problem]:
    """Yield handlers around the loop: they would catch a scan's exceptions, and see names that it has not changed."""
    below: ast.AST = loop.node
    for above in _up(loop):
        if isinstance(above, ast.Try | ast.TryStar) and any(below is each for each in above.body):
            word, first = ("except", above.handlers[0]) if above.handlers else ("finally", above.finalbody[0])
            yield Problem("SCN212", f"`{word}` {_CATCHES}", first, _OUT)
        for item in above.items if isinstance(above, ast.With | ast.AsyncWith) else ():
            manager = item.context_expr
            what = loop.scope.qualified(manager.func) if isinstance(manager, ast.Call) else None
            if what in _CATCHERS:
                yield Problem("SCN212", f"`{what}` {_CATCHES}", manager, _OUT)
        below = above


def lost_values(
    loop: Loop, after: dict[str, ast.AST], bound: Sequence[str], carry: Sequence[str], targets: Sequence[str]
) -> Iterator[Problem]:
    """Yield the values that code after the loop reads and that only a Python loop leaves behind."""
    temporary = [name for name in dict.fromkeys((*targets, *bound)) if name not in carry]
    for name in temporary:
        if name in after:
            reason = (
                f"`{name}` is read after the loop, and does not go from layer to layer: a scan gives what it carries"
            )
            yield Problem("SCN209", reason, after[name])
    for call in _frame_readers(loop) if temporary else ():
        text = loop.module.code(call)
        yield Problem("SCN209", f"`{text}` sees `{temporary[0]}`, which the loop leaves behind", call)


def read_after(loop: Loop) -> dict[str, ast.AST]:
    """Return the names whose values from the loop are read by code after it, with the first read of each."""
    after: dict[str, ast.AST] = {}
    if not loop.is_statement:
        return after
    for stretch in _continuation(loop):
        for name, read in flow(stretch).read_first.items():
            after.setdefault(name, read)
    return after


def path_to(loop: Loop) -> list[ast.stmt]:
    """Return the statements that have definitely run when the loop is reached, in order."""
    path: list[ast.stmt] = []
    below: ast.AST = loop.node
    for above in _up(loop, and_function=True):
        block = _block_of(above, below)
        if block is not None:
            position = next(at for at, each in enumerate(block) if each is below)
            path = [*block[:position], *path]
        below = above
    return path


def statements_around(loop: Loop) -> Iterator[ast.AST]:
    """Yield the statements around a loop in its function, innermost first."""
    return (each for each in _up(loop) if isinstance(each, ast.stmt | ast.excepthandler | ast.match_case))


def _up(loop: Loop, *, and_function: bool = False) -> Iterator[ast.AST]:
    """Yield the nodes around a loop, within its function; with `and_function` also the function or module itself."""
    for above in ancestors(loop.module, loop.node):
        if isinstance(above, (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.Module)):
            if and_function and not isinstance(above, ast.Lambda):
                yield above
            return
        yield above


def _block_of(above: ast.AST, below: ast.AST) -> list[ast.stmt] | None:
    """Return the block of a compound statement, handler, function or module that holds a statement directly."""
    for name in _BLOCKS:
        block = getattr(above, name, None)
        if isinstance(block, list) and any(each is below for each in block):
            return block
    return None


def _continuation(loop: Loop) -> list[list[ast.AST]]:
    """Return the statements that may run after the loop ends, including those that an enclosing loop runs again.

    They come in stretches, each of which may run without the one before it: a `break` skips the rest of a block. Loops
    whose exceptions are caught are refused.
    """
    stretches: list[list[ast.AST]] = [[]]
    below: ast.AST = loop.node
    for above in _up(loop, and_function=True):
        block = _block_of(above, below)
        if block is not None:
            position = next(at for at, each in enumerate(block) if each is below)
            stretches[-1].extend(block[position + 1 :])
        if isinstance(above, LOOPS):
            head: list[ast.AST] = [above.test] if isinstance(above, ast.While) else []
            stretches[-1].extend([*head, *above.body])
            stretches += [list(above.orelse), []]
        elif isinstance(above, ast.Try | ast.TryStar):
            stretches += [list(above.finalbody), []]
        below = above
    return stretches


def _frame_readers(loop: Loop) -> Iterator[ast.Call]:
    """Yield calls in the function that may read any of its names: `locals()`, `eval(...)`."""
    for node in nodes_in(loop.scope.function.node):
        if isinstance(node, ast.Call) and loop.scope.builtin(node) in _FRAME_READERS:
            yield node


def captures(loop: Loop, names: Names, carry: Sequence[str], bound: set[str]) -> Iterator[Problem]:
    """Yield functions defined around the loop that read names the body binds: they would see the old values."""
    loops = [each for each in statements_around(loop) if isinstance(each, LOOPS)]
    end = loop.module.span([loop.node, *loops][-1]).end
    inside = set(nodes_in(loop.node))
    for node in own_nodes(loop.scope.function.node):
        if isinstance(node, ast.Global | ast.Nonlocal):
            for name in bound.intersection(node.names):
                reason = f"`{name}` belongs to the module or to the function around; a scan does not assign it"
                yield Problem("SCN207", reason, node)
        if not isinstance(node, _CLOSURES) or node in inside or loop.module.span(node).start > end:
            continue  # one defined after the loop sees the last values, as before
        outer = (each for each in nodes_in(node) if isinstance(each, ast.Global | ast.Nonlocal))
        for name, read in {**reads(node), **{name: each for each in outer for name in each.names}}.items():
            if name in bound:
                reason = f"a function defined outside of the loop reads `{name}`, whose values a scan does not show it"
                yield Problem("SCN211" if name in carry else "SCN209", reason, read)
