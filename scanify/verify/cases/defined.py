"""Find the functions that a case file defines, without running it, to report missing ones early."""

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

# With these a file may define names that its text does not show.
_BY_TEXT = frozenset({"globals", "vars", "locals", "exec", "eval", "setattr", "__dict__", "__getattr__", "modules"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def missing(path: Path, function: str) -> str | None:
    """Return the message if a file cannot have a function of that name; None if it has one, or may have."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the run will report invalid escapes
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the traceback of the import shows the reason
    if function in _bound(tree) or any(_by_text(node, function) for node in ast.walk(tree)):
        return None
    return no_function(path, function, [each.name for each in tree.body if isinstance(each, ast.FunctionDef)])


def no_function(path: Path, function: str, names: list[str]) -> str:
    """Return the message that a file has no function of a name, with the names of those that it has."""
    shown = [name for name in names if not name.startswith("_")]
    has = f"it has {', '.join(shown)}" if shown else "it defines no functions"
    return f"{path.name} has no function {function!r}; {has}"


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that the code below a node binds, except inside functions and classes."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Name(id=name, ctx=ast.Store()) | ast.alias(asname=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.alias(name=name):
                yield name.partition(".")[0]
            case ast.MatchAs(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name
        if isinstance(child, _SCOPES):
            yield child.name
        else:
            yield from _bound(child)


def _by_text(node: ast.AST, function: str) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.alias(name=name):
            return name == "*" or name in _BY_TEXT
        case ast.Global(names=names):
            return function in names
    return False
