"""Whether the body of a loop uses what it walks as no module can be used: as a number, a text, a record, an array.

Asked before any code is run, since most loops of a project walk such things.
"""

import ast

from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import nodes_in

# Methods of texts, dicts, lists and arrays; a module with a method of such a name would be a rare one.
_METHODS = frozenset(
    "startswith endswith split rsplit splitlines strip lstrip rstrip removeprefix removesuffix encode decode lower "
    "upper format zfill isdigit items append extend astype reshape to_bytes with_suffix is_file is_dir exists "
    "read_text write_text set_result add_done_callback".split()
)
_NUMBERS = frozenset({"int", "float", "ord", "chr", "Path", "range"})
_ORDERED = ast.Lt | ast.LtE | ast.Gt | ast.GtE
_ARITHMETIC = ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.Pow | ast.LShift | ast.RShift | ast.BitAnd


def used_as_data(loop: Loop, walk: Walk) -> bool:
    """Whether what a walk goes over is surely no module, by what the body does with it."""
    if not isinstance(walk.target, ast.Name):
        return False
    name = walk.target.id
    nodes = nodes_in(*loop.body)
    if any(isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store) for each in nodes):
        return False  # another thing from there on
    return any(_is_data(each, name) for each in nodes)


def _is_data(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Subscript(slice=ast.Name(id=key)):
            return key == name
        case ast.Compare(left=ast.Name(id=left), ops=[ast.In() | ast.NotIn(), *_]):
            return left == name
        case ast.Compare(left=left, ops=ops, comparators=others):
            return any(isinstance(each, _ORDERED) for each in ops) and any(_is(each, name) for each in (left, *others))
        case ast.BinOp(left=left, op=op, right=right) if _is(left, name) or _is(right, name):
            constant = any(isinstance(each, ast.Constant) and not isinstance(each.value, str) for each in (left, right))
            return isinstance(op, _ARITHMETIC) or constant
        case ast.AugAssign(value=value):
            return _is(value, name)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=attr)) if owner == name:
            return attr in _METHODS
        case ast.Call(func=ast.Name(id=function), args=[ast.Name(id=given)]):
            return given == name and function in _NUMBERS
        case _:
            return False


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
