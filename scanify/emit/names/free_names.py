"""The names that a piece of code reads without binding them in its own scope or one outside of it."""

import ast

from scanify.emit.loops.enclosing import FUNCTIONS

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def reads(node: ast.AST) -> set[str]:
    """Return the names that a function, or any statement, reads, except the locals of nested functions."""
    found: set[str] = set()
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Name):
            if not isinstance(each.ctx, ast.Store):
                found.add(each.id)
        elif isinstance(each, FUNCTIONS):
            found |= reads(each) - own(each) | _outside(each)
        elif isinstance(each, _COMPREHENSIONS):
            found |= reads(each) - _targets(each) | reads(ast.Expr(each.generators[0].iter))
        elif isinstance(each, ast.Global | ast.Nonlocal):
            found |= set(each.names)
        elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
            found |= {each.target.id} | reads(each)
        else:
            found |= reads(each)
    return found


def _targets(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> set[str]:
    """Return the names that the `for`s of a comprehension bind in its own scope."""
    parts = [part for level in node.generators for part in ast.walk(level.target)]
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _outside(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Return the names read where a function is defined, which may equal its own: `lambda i=i: i`."""
    defaults = [*function.args.defaults, *(each for each in function.args.kw_defaults if each is not None)]
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return {name for each in (*defaults, *decorators) for name in reads(ast.Expr(each))}


def own(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Return the local names of a function."""
    args = function.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    names = {arg.arg for arg in every if arg is not None}
    other: set[str] = set()
    left: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    while left:
        node = left.pop()
        bound = _bound(node)
        if isinstance(node, ast.Global | ast.Nonlocal):
            other |= set(node.names)
        names |= bound
        if isinstance(node, _COMPREHENSIONS):  # its names are not the function's
            named = (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
            names |= {each.target.id for each in named}
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            left += ast.iter_child_nodes(node)
    return names - other


def _bound(node: ast.AST) -> set[str]:
    """Return the names that a node binds itself."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return {name}
        case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
            return {name}
        case ast.alias(name=name, asname=given):
            return {given or name.partition(".")[0]}
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return {name}
        case _:
            return set()


def free_names(code: str) -> set[str]:
    """Return the free names of the one function or lambda in a text; none if it does not parse."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return set()
    return reads(tree)
