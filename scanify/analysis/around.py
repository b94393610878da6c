"""What the code around a loop sees of the names that the loop binds, and of the exceptions that it raises."""

from collections.abc import Sequence

import libcst as cst

from scanify.analysis.children import children
from scanify.analysis.code import code_of
from scanify.analysis.effects import Problem
from scanify.analysis.keys import qualified
from scanify.analysis.names import Names, body_of, flow, reads
from scanify.analysis.project import Project
from scanify.analysis.where import Where, builtin_called

_FRAME_READERS = frozenset("locals vars eval exec".split())
_CATCHERS = frozenset(("contextlib.suppress", "pytest.raises"))


def caught(project: Project, at: Where, loop: cst.CSTNode, carry: Sequence[str]) -> list[Problem]:
    """Handlers around the loop: they would catch what a scan raises, and see the carry as it was before the loop."""
    parsed = at.module.parsed
    below: cst.CSTNode = loop
    for above in parsed.ancestors(loop):
        if isinstance(above, cst.FunctionDef):
            break
        if isinstance(above, cst.Try | cst.TryStar) and below is above.body:
            if above.handlers:
                return [Problem("SCN212", "an exception in the loop is caught around it", above.handlers[0])]
            final = flow(body_of(above.finalbody.body)).exposed if above.finalbody is not None else {}
            for name in carry:
                if name in final:
                    return [Problem("SCN212", f"`finally` reads `{name}`, even after an exception", final[name])]
        if isinstance(above, cst.With):
            for item in above.items:
                manager = qualified(project, at, item.item.func) if isinstance(item.item, cst.Call) else None
                if manager in _CATCHERS:
                    return [Problem("SCN212", f"`{manager}` around the loop catches exceptions in it", item.item)]
        below = above
    return []


def lost_values(
    project: Project, at: Where, loop: cst.For, names: Names, targets: set[str], carry: Sequence[str]
) -> list[Problem]:
    """Values that code after the loop reads and that only the last turn of the Python loop leaves behind."""
    after = read_after(at, loop)
    lost = [name for name in (*targets, *names.bound) if name in after and name not in carry]
    found = [Problem("SCN209", f"`{name}` is read after the loop", after[name]) for name in dict.fromkeys(lost)]
    temporary = [name for name in (*targets, *names.bound) if name not in carry]
    readers = _frame_readers(project, at) if temporary else []
    what = f"sees `{temporary[0]}`, which the loop leaves behind" if temporary else ""
    return found + [Problem("SCN209", f"`{code_of(call)}` {what}", call) for call in readers]


def read_after(at: Where, loop: cst.For) -> dict[str, cst.CSTNode]:
    """The names that code after the loop reads with the values that the loop leaves, and where."""
    after: dict[str, cst.CSTNode] = {}
    for stretch in _continuation(at, loop):
        for name, read in flow(stretch).exposed.items():
            after.setdefault(name, read)
    return after


def path_to(at: Where, loop: cst.For) -> list[cst.CSTNode]:
    """The statements that have surely been run where the loop is reached, in order."""
    found: list[cst.CSTNode] = []
    below: cst.CSTNode = loop
    for above in at.module.parsed.ancestors(loop):
        if isinstance(above, cst.IndentedBlock | cst.Module):
            position = next((i for i, one in enumerate(above.body) if one is below), 0)
            found = [*above.body[:position], *found]
        if isinstance(above, cst.FunctionDef):
            break
        below = above
    return found


def _frame_readers(project: Project, at: Where) -> list[cst.Call]:
    """Calls in the function that may read any of its names: `locals()`, `eval(...)`."""
    found: list[cst.Call] = []

    def visit(node: cst.CSTNode) -> None:
        name = builtin_called(project, at, node)
        if isinstance(node, cst.Call) and name in _FRAME_READERS and (name != "vars" or not node.args):
            found.append(node)
        if not isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            for child in children(node):
                visit(child)

    for statement in at.body():
        visit(statement)
    return found


def _continuation(at: Where, loop: cst.For) -> list[list[cst.CSTNode]]:
    """The statements that may run after the loop ends; those of an enclosing loop come round again.

    In stretches, each of which may run without the one before it: a `break` or an exception skips the rest of a block.
    """
    parsed = at.module.parsed
    found: list[list[cst.CSTNode]] = [[]]
    below: cst.CSTNode = loop
    for above in parsed.ancestors(loop):
        if isinstance(above, cst.FunctionDef):
            break
        if isinstance(above, cst.IndentedBlock | cst.Module):
            position = next((i for i, one in enumerate(above.body) if one is below), len(above.body))
            found[-1].extend(above.body[position + 1 :])
        elif isinstance(above, cst.For | cst.While):
            found[-1].extend(_other_turns(above))
            found += [[above.orelse] if above.orelse is not None else [], []]
        elif isinstance(above, cst.Try | cst.TryStar):
            found += [list(body_of(handler.body)) for handler in above.handlers]
            found += [[rest] for rest in (above.orelse, above.finalbody) if rest is not None and rest is not below]
            found.append([])
        below = above
    return found


def _other_turns(around: cst.For | cst.While) -> list[cst.CSTNode]:
    """The body of an enclosing loop, which runs again after the loop in it."""
    head: list[cst.CSTNode] = [cst.Expr(around.test)] if isinstance(around, cst.While) else []
    return [*head, *body_of(around.body)]


def captures(at: Where, loop: cst.For, carry: set[str], bound: set[str]) -> list[Problem]:
    """Functions made around the loop that see the names the body binds: they would see the old values."""
    function = at.function
    problems = []
    for node in _closures(function if function is not None else at.module.parsed.module, loop):
        seen = {
            **reads(node),
            **{name: statement for statement in _declared_outer(node) for name in _declared(statement)},
        }
        for name, read in seen.items():
            if name in bound and not _is_after(at, loop, node):
                rule = "SCN211" if name in carry else "SCN209"
                problems.append(Problem(rule, f"a function defined outside of the loop reads `{name}`", read))
    for statement in _declared_outer(function, nested=False) if function is not None else []:
        problems.extend(
            Problem("SCN207", f"`{name}` belongs to a scope around the function", statement)
            for name in _declared(statement)
            if name in bound
        )
    return problems


def _is_after(at: Where, loop: cst.For, node: cst.CSTNode) -> bool:
    """Whether a function is made after the loop for good: it sees the last values, as it did before.

    Of names that only the Python loop leaves behind, `_lost_values` knows.
    """
    parsed = at.module.parsed
    around = any(isinstance(above, cst.For | cst.While) for above in parsed.ancestors(loop))
    return not around and parsed.span(node).start > parsed.span(loop).end


def _closures(node: cst.CSTNode, loop: cst.For) -> list[cst.CSTNode]:
    """The outermost functions, lambdas and generator expressions in a function, without those in the loop itself."""
    found: list[cst.CSTNode] = []
    for child in children(node):
        if child is loop:
            continue
        if isinstance(child, cst.FunctionDef | cst.Lambda | cst.GeneratorExp | cst.ClassDef):
            found.append(child)
        else:
            found.extend(_closures(child, loop))
    return found


def _declared_outer(node: cst.CSTNode, nested: bool = True) -> list[cst.Global | cst.Nonlocal]:
    """The `global` and `nonlocal` statements in a function, those of functions in it included where `nested`."""
    found: list[cst.Global | cst.Nonlocal] = []
    for child in children(node):
        if isinstance(child, cst.Global | cst.Nonlocal):
            found.append(child)
        elif nested or not isinstance(child, cst.FunctionDef | cst.ClassDef):
            found.extend(_declared_outer(child, nested))
    return found


def _declared(statement: cst.Global | cst.Nonlocal) -> list[str]:
    return [item.name.value for item in statement.names]
