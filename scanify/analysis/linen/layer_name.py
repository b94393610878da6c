"""The name that a module of Flax Linen is given in a loop, as a text with `{}` where the number of the layer stands."""

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class LayerName:
    """`"layer_{}"`, and what is added to the number of the iteration in it."""

    text: str
    first: int = 0


def layer_name(node: ast.expr, number: str) -> LayerName | None:
    """The name that an expression gives in iteration `number`; None where that is not shown, or the same in all.

    Read are `f"layer_{i}"`, `str(i)`, `"layer_" + str(i)`, `"layer_%d" % i` and `"layer_{}".format(i)`.
    """
    parts = _parts(node, number)
    if parts is None:
        return None
    numbers = [part for part in parts if isinstance(part, int)]
    if len(numbers) != 1 or any("{" in part or "}" in part for part in parts if isinstance(part, str)):
        return None
    return LayerName("".join("{}" if isinstance(part, int) else part for part in parts), numbers[0])


def _parts(node: ast.expr, number: str) -> list[str | int] | None:
    """The texts that a name is put together of, with a number where the number of the iteration stands: what is added
    to it."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            found = [_parts(value, number) for value in values]
            return None if None in found else [part for each in found if each is not None for part in each]
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return _counted(value, number)
        case ast.Call(func=ast.Name(id="str"), args=[value], keywords=[]):
            return _counted(value, number)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _parts(left, number), _parts(right, number)
            return None if first is None or second is None else [*first, *second]
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod(), right=value):
            return _filled(text.replace("%s", "%d").split("%d"), value, number)
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format"), args=[value], keywords=[]
        ):
            return _filled(text.split("{}"), value, number)
        case _:
            return None


def _filled(texts: list[str], value: ast.expr, number: str) -> list[str | int] | None:
    if isinstance(value, ast.Tuple) and len(value.elts) == 1:
        value = value.elts[0]
    counted = _counted(value, number)
    plain = len(texts) == 2 and not any("%" in text for text in texts)
    return [texts[0], *counted, texts[1]] if counted is not None and plain else None


def _counted(node: ast.expr, number: str) -> list[str | int] | None:
    match node:
        case ast.Name(id=name) if name == number:
            return [0]
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=ast.Constant(value=int(more))) if name == number:
            return [more]
        case ast.Constant(value=str(text)):
            return [text]
        case _:
            return None
