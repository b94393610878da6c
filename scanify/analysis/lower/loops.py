"""Find every loop of a file that could iterate over modules, in any form, as a `Loop`.

    loops_in(module)

Each form is lowered by one function, here or in its own file: `head` reads `zip` and `enumerate`, `by_number` elements
taken by index; `calls` refuses `map` and `reduce`.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from scanify.analysis.facts import Span
from scanify.analysis.flow.names import flow, reads, target_names
from scanify.analysis.index.module import Module
from scanify.analysis.lower.candidates import Candidate, candidates
from scanify.analysis.lower.forms.by_number import by_number
from scanify.analysis.lower.forms.calls import call_lowered
from scanify.analysis.lower.forms.generators import is_own_list, walked_at_once
from scanify.analysis.lower.head import Head, HeadReader
from scanify.analysis.lower.ignores import about
from scanify.analysis.lower.loop import Form, Index, Loop, Problem
from scanify.analysis.lower.nodes import by_kind, kept
from scanify.analysis.lower.scope import Scope, adopt, ancestors, parent_of, scope_of

_ONE_FOR = "flatten what it walks first, or keep the comprehension"


def loops_in(module: Module) -> tuple[Loop, ...]:
    """Return the loops of a file in source order, including nested ones."""
    found = candidates(module.text, module.tree)
    return kept(module.tree, "_loops", lambda: tuple(loop for node in found for loop in _lowered(module, node)))


def for_loops_in(module: Module) -> tuple[Loop, ...]:
    """Return every `for` statement of a file, whatever it iterates over."""
    return tuple(loop for node in by_kind(module.tree)[ast.For] for loop in _lowered(module, node))


def _lowered(module: Module, node: Candidate) -> Iterator[Loop]:
    scope = scope_of(module, node)
    loop: Loop | None = None
    match node:
        case ast.For() | ast.AsyncFor():
            loop = _for(module, scope, node)
        case ast.While():
            loop = _while(module, scope, node)
        case ast.ListComp() | ast.GeneratorExp():
            loop = _comprehension(module, scope, node)
        case ast.Call():
            loop = call_lowered(module, scope, node)
    if loop is not None and not _in_text(module, loop.node):
        asked = about(module, loop.node)
        if asked:
            codes = frozenset(code for each in asked for code in each.codes or ())
            loop = replace(loop, ignored=any(each.codes is None for each in asked), ignores=codes)
        yield loop


def _for(module: Module, scope: Scope, node: ast.For | ast.AsyncFor) -> Loop:
    reader = HeadReader(module, scope)
    head = reader.read(node.target, node.iter)
    problem = head.problem
    if isinstance(node, ast.AsyncFor):
        problem = Problem("SCN213", "the loop is an `async for`, which waits between its layers", node, "keep the loop")
    elif node.orelse:
        problem = Problem(
            "SCN213", "the loop has an `else`", node.orelse[0], "move the code of the `else` behind the loop"
        )
    place, body = module.place(node), tuple(node.body)
    loop = Loop(module, scope, Form.FOR, node, place, node.target, head.walks, head.index, body, problem=problem)
    loop = replace(loop, index=read_index(head.index, loop.body))
    return _appending(by_number(loop, head, reader))


def _while(module: Module, scope: Scope, node: ast.While) -> Loop | None:
    """Lower a `while` that takes layers by number; None if it takes none."""
    loop = Loop(module, scope, Form.WHILE, node, module.place(node), node.test, (), None, tuple(node.body))
    loop = by_number(loop, Head(()), HeadReader(module, scope))
    return loop if loop.walks else None


def read_index(index: Index | None, body: tuple[ast.AST, ...]) -> Index | None:
    """Return an index that records whether the body reads its target before binding it."""
    if index is None:
        return None
    return replace(index, read=bool(set(target_names(index.target)) & set(flow(body).read_first)))


def _appending(loop: Loop) -> Loop:
    """Return a loop that only appends to a list of its function as a loop that yields elements."""
    match loop.body:
        case (ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), keywords=[])),):
            assert isinstance(loop.body[0], ast.Expr) and isinstance(loop.body[0].value, ast.Call)
            given = loop.body[0].value.args
        case (ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List(elts=given)),):
            pass
        case _:
            return loop
    if len(given) != 1 or isinstance(given[0], ast.Starred) or name in reads(given[0]) or flow(given).bound:
        return loop
    if not is_own_list(loop.scope, name, loop.node):
        return loop
    body = ast.copy_location(ast.Expr(given[0]), given[0])
    adopt(loop.module, body, loop.node)
    return replace(loop, body=(body,), element=given[0], appends_to=name)


def _comprehension(module: Module, scope: Scope, node: ast.ListComp | ast.GeneratorExp) -> Loop:
    first = node.generators[0]
    reader = HeadReader(module, scope)
    head = reader.read(first.target, first.iter)
    form = Form.COMPREHENSION if isinstance(node, ast.ListComp) else Form.GENERATOR
    problem = head.problem
    if first.is_async:
        problem = Problem("SCN213", "the comprehension is asynchronous", first.iter, "keep the comprehension")
    elif len(node.generators) > 1:
        problem = Problem("SCN213", "the comprehension has several `for`s", node.generators[1].target, _ONE_FOR)
    elif first.ifs:
        problem = Problem(
            "SCN213", "the comprehension has an `if`", first.ifs[0], "choose the layers where the list is built"
        )
    body = (ast.copy_location(ast.Expr(node.elt), node.elt),)
    adopt(module, body[0], node)
    place = module.place_of(own_span(module, node))
    index = read_index(head.index, body)
    loop = Loop(
        module, scope, form, node, place, first.target, head.walks, index, body, element=node.elt, problem=problem
    )
    loop = by_number(loop, head, reader)
    if loop.problem is None and form is Form.GENERATOR and not walked_at_once(module, scope, node):
        problem = Problem(
            "SCN213", "the generator may be walked later, or not to its end", node, "make it a list: `[...]`"
        )
        loop = replace(loop, problem=problem)
    return loop


def own_span(module: Module, node: ast.expr) -> Span:
    """Return the span of an expression; for a generator as a call's only argument, without the call's parentheses."""
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


# -- excluded expressions --------------------------------------------------------------------------------------------


def _in_text(module: Module, node: ast.AST) -> bool:
    """True if an expression is in an f-string, which cannot hold a call of several lines."""
    if isinstance(node, ast.stmt):
        return False
    for above in ancestors(module, node):
        if isinstance(above, ast.stmt):
            return False
        if isinstance(above, ast.JoinedStr):
            return True
    return False
