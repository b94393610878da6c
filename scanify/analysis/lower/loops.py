"""Every loop of a file that could be over modules, of every form, as a `Loop`.

    loops_in(module)

A form is lowered by one function here or in a file of its own: `head` reads what is walked in step, `by_number` what is
taken by index, `counters` what is counted by hand and by `while`, `last_element` lists that are read at their end,
`calls` what is walked by `map`, `reduce` and `Sequential`.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from scanify.analysis.facts import Place, Span
from scanify.analysis.flow.names import flow, reads, target_names
from scanify.analysis.index.module import Module
from scanify.analysis.lower.candidates import Candidate, candidates
from scanify.analysis.lower.eager import is_own_list, walked_at_once
from scanify.analysis.lower.head import HeadReader
from scanify.analysis.lower.loop import Form, Index, Loop, Problem
from scanify.analysis.lower.scope import Scope, ancestors, parent_of, scope_of

IGNORE = "scanify: ignore"
_KEPT = "_loops"


def loops_in(module: Module) -> tuple[Loop, ...]:
    """The loops of a file in source order, those within others too. Made once for each file."""
    kept = getattr(module.tree, _KEPT, None)
    if isinstance(kept, tuple):
        return kept
    found = tuple(loop for node in candidates(module) for loop in _lowered(module, node))
    setattr(module.tree, _KEPT, found)
    return found


def _lowered(module: Module, node: Candidate) -> Iterator[Loop]:
    scope = scope_of(module, node)
    loop: Loop | None = None
    match node:
        case ast.For() | ast.AsyncFor():
            loop = _for(module, scope, node)
        case ast.ListComp() | ast.GeneratorExp():
            loop = _comprehension(module, scope, node)
        case _:
            loop = None
    if loop is not None and not _ignored(module, loop.node) and not _in_text(module, loop.node):
        yield loop


def _for(module: Module, scope: Scope, node: ast.For | ast.AsyncFor) -> Loop:
    head = HeadReader(module, scope).read(node.target, node.iter)
    problem = head.problem
    if isinstance(node, ast.AsyncFor):
        problem = Problem("SCN213", "the loop is an `async for`", node)
    elif node.orelse:
        problem = Problem("SCN213", "the loop has an `else`", node.orelse[0])
    body = tuple(node.body)
    loop = Loop(
        module,
        scope,
        Form.FOR,
        node,
        module.place(node),
        node.target,
        head.walks,
        read_index(head.index, body),
        body,
        problem=problem,
    )
    return _appending(loop)


def read_index(index: Index | None, body: tuple[ast.AST, ...]) -> Index | None:
    """An index that knows whether a body reads its target, as it is at the beginning of an iteration."""
    if index is None:
        return None
    return replace(index, read=bool(set(target_names(index.target)) & set(flow(body).read_first)))


def _appending(loop: Loop) -> Loop:
    """A loop that does nothing but append what each layer gives to a list of its function: it gives elements."""
    match loop.body:
        case (ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), keywords=[])),):
            assert isinstance(loop.body[0], ast.Expr) and isinstance(loop.body[0].value, ast.Call)
            given = loop.body[0].value.args
        case (ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List(elts=given)),):
            pass
        case _:
            return loop
    if len(given) != 1 or isinstance(given[0], ast.Starred) or name in reads(given[0]):
        return loop
    if not is_own_list(loop.scope, name):
        return loop
    return replace(loop, element=given[0], appends_to=name)


def _comprehension(module: Module, scope: Scope, node: ast.ListComp | ast.GeneratorExp) -> Loop:
    first = node.generators[0]
    head = HeadReader(module, scope).read(first.target, first.iter)
    form = Form.COMPREHENSION if isinstance(node, ast.ListComp) else Form.GENERATOR
    problem = head.problem
    if first.is_async:
        problem = Problem("SCN213", "the comprehension is asynchronous", first.iter)
    elif len(node.generators) > 1:
        problem = Problem("SCN213", "the comprehension has several `for`s", node.generators[1].target)
    elif first.ifs:
        problem = Problem("SCN213", "the comprehension has an `if`", first.ifs[0])
    elif form is Form.GENERATOR and not walked_at_once(module, scope, node):
        problem = Problem("SCN213", "the generator is not shown to be walked at once and to its end", node)
    body = (ast.copy_location(ast.Expr(node.elt), node.elt),)
    index = read_index(head.index, body)
    place = Place(module.path, own_span(module, node))
    return Loop(
        module, scope, form, node, place, first.target, head.walks, index, body, element=node.elt, problem=problem
    )


def own_span(module: Module, node: ast.expr) -> Span:
    """The span of an expression: of a generator that is a call's only argument, without the call's parentheses."""
    span = module.span(node)
    call = parent_of(module, node)
    if not isinstance(node, ast.GeneratorExp) or not isinstance(call, ast.Call) or call.func is node:
        return span
    if module.span(call).end != span.end:
        return span
    inner = module.text[span.start + 1 : span.end - 1]
    start = span.start + 1 + len(inner) - len(inner.lstrip())
    end = start + len(inner.strip())
    return Span(start, end, module.line_of(start), module.line_of(end))


# -- what is left alone ----------------------------------------------------------------------------------------------


def _in_text(module: Module, node: ast.AST) -> bool:
    """Whether an expression stands in an f-string, which is no place for a call of several lines."""
    if isinstance(node, ast.stmt):
        return False
    for above in ancestors(module, node):
        if isinstance(above, ast.stmt):
            return False
        if isinstance(above, ast.JoinedStr):
            return True
    return False


def _ignored(module: Module, node: ast.stmt | ast.expr) -> bool:
    """Whether a comment in a loop's head, in an expression's statement, or right above it, says `# scanify: ignore`."""
    if IGNORE not in module.text:
        return False
    statement: ast.AST | None = node
    while statement is not None and not isinstance(statement, ast.stmt):
        statement = parent_of(module, statement)
    assert isinstance(statement, ast.stmt)
    last = node.end_lineno or node.lineno
    if node is statement and isinstance(node, ast.For | ast.AsyncFor | ast.While):
        last = max(node.lineno, node.body[0].lineno - 1)
    lines = [_line(module, number) for number in range(statement.lineno, last + 1)]
    above = statement.lineno - 1
    while above > 0 and _line(module, above).lstrip().startswith("#"):
        lines.append(_line(module, above))
        above -= 1
    return any(IGNORE in line.partition("#")[2] for line in lines)


def _line(module: Module, number: int) -> str:
    return module.text[module.line_start(number) : module.line_start(number + 1)]
