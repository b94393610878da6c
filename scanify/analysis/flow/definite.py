"""Which expressions of a body are definitely evaluated in every iteration that ends without an exception."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.lower.nodes import children, mentions, nodes_in

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def definitely_evaluated(body: Sequence[ast.AST]) -> frozenset[ast.AST]:
    """The nodes that no condition, no `continue` and no early end of the loop keeps from being evaluated.

    None where an iteration may be the last one before all numbers are counted through. A lambda that is given to a call
    is taken to be called: `jax.vmap(lambda y: self.layers[i](y))(x)`.
    """
    return frozenset() if ends_loop(body) else frozenset(_block(body))


def ends_loop(body: Sequence[ast.AST]) -> bool:
    """Whether an iteration may end the loop: by `break` or `return`."""
    return any(_leaves(statement, (ast.Break, ast.Return)) for statement in body)


def _leaves(node: ast.AST, kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Whether a statement leaves the loop around it, or an iteration of that; an inner loop only by `return`."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, (*_FUNCTIONS, ast.expr)):
        return False
    if isinstance(node, _LOOPS):
        kinds = (ast.Return,)
    return any(_leaves(child, kinds) for child in children(node))


def _block(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for statement in body:
        yield from _statement(statement)
        if _leaves(statement, (ast.Break, ast.Return, ast.Continue)):
            return


def _statement(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If():
            yield from _expression(node.test)
            if node.orelse:
                yield from _both(list(_block(node.body)), list(_block(node.orelse)))
        case ast.For():
            yield from _expression(node.iter)
        case ast.While():
            yield from _expression(node.test)
        case ast.With():
            for item in node.items:
                yield from _expression(item.context_expr)
            yield from _block(node.body)
        case ast.Assert() | ast.Try() | ast.TryStar() | ast.Match() | ast.FunctionDef() | ast.ClassDef():
            return
        case ast.AsyncFor() | ast.AsyncWith() | ast.AsyncFunctionDef():
            return
        case _:
            yield from _expression(node)


def _both(first: list[ast.AST], second: list[ast.AST]) -> Iterator[ast.AST]:
    """What each of two branches evaluates, though at another place: an element that both take is definitely taken."""
    texts = [{ast.unparse(each) for each in nodes if isinstance(each, ast.Subscript)} for nodes in (first, second)]
    for nodes, others in zip((first, second), reversed(texts), strict=True):
        yield from (each for each in nodes if isinstance(each, ast.Subscript) and ast.unparse(each) in others)


def _expression(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    match node:
        case ast.IfExp():
            yield from _expression(node.test)
            yield from _both(list(_expression(node.body)), list(_expression(node.orelse)))
        case ast.BoolOp():
            yield from _expression(node.values[0])
        case ast.Compare():
            yield from _expression(node.left)
            yield from _expression(node.comparators[0])
        case ast.Lambda():
            return
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            yield from _expression(node.generators[0].iter)
        case ast.Call():
            yield from _expression(node.func)
            for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from _expression(value.body if isinstance(value, ast.Lambda) else value)
        case _:
            for child in children(node):
                yield from _expression(child)


def reads_before_stores(body: Sequence[ast.AST], reads: Sequence[ast.AST], stores: Sequence[ast.AST]) -> bool:
    """Whether nothing of `reads` is read after the first of `stores`, and nothing is stored in a loop in the body."""
    stored = False
    for statement in _simple(body):
        if statement is None:
            return False
        holds = set(nodes_in(statement))
        if stored and holds.intersection(reads):
            return False
        here = [each for each in stores if each in holds]
        if any(set(nodes_in(target)).intersection(reads) for target in here):
            return False
        stored = stored or bool(here)
    loops = [each for statement in body for each in nodes_in(statement) if isinstance(each, _LOOPS)]
    return not any(set(nodes_in(loop)).intersection(stores) for loop in loops)


def _simple(body: Sequence[ast.AST]) -> Iterator[ast.AST | None]:
    """The statements without blocks of their own, and the heads of those that have; None for what is not followed."""
    for statement in body:
        match statement:
            case ast.If() | ast.While():
                yield statement.test
                yield from _simple([*statement.body, *statement.orelse])
            case ast.For():
                yield statement.iter
                yield from _simple([*statement.body, *statement.orelse])
            case ast.With():
                yield from (item.context_expr for item in statement.items)
                yield from _simple(statement.body)
            case ast.stmt() if hasattr(statement, "body") or isinstance(statement, ast.Match):
                yield None
            case _:
                yield statement


def bound_once(nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether exactly one place in some code binds a name, and nothing reads it in front of that."""
    places = sorted(mentions(name, *nodes), key=lambda each: (each.lineno, each.col_offset))
    kinds = [isinstance(each.ctx, ast.Load) for each in places]
    others = (each for node in nodes for each in nodes_in(node) if isinstance(each, ast.arg) and each.arg == name)
    return kinds[:1] == [False] and all(kinds[1:]) and next(others, None) is None
