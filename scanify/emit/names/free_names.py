"""The names that a piece of code reads and does not bind: of its own scope, or of one outside of it."""

import ast

from scanify.emit.loops.enclosing import FUNCTIONS

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def reads(node: ast.AST) -> set[str]:
    """The names that a function, or any statement, reads; those that are local to functions in it are not counted."""
    found: set[str] = set()
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Name):
            if not isinstance(each.ctx, ast.Store):
                found.add(each.id)
        elif isinstance(each, FUNCTIONS):
            found |= reads(each) - own(each)
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
    """The names that the `for`s of a comprehension bind, which are its own."""
    parts = [part for level in node.generators for part in ast.walk(level.target)]
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def own(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """The names that are local to a function."""
    args = function.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    names = {arg.arg for arg in every if arg is not None}
    other: set[str] = set()
    left: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    while left:
        node = left.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            other |= set(node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif not isinstance(node, ast.Lambda):
            left += ast.iter_child_nodes(node)
    return names - other


def free_names(code: str) -> set[str]:
    """The names that the one function or lambda in a text takes from outside; none where it does not parse."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return set()
    return reads(tree)
