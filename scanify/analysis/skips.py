"""Values that a loop collects for a way back: the skips of a U-Net, whose levels are each of a width of their own."""

import libcst as cst

from scanify.analysis.children import nodes_in
from scanify.analysis.growth import growths
from scanify.analysis.names import body_of
from scanify.analysis.project import dotted
from scanify.analysis.where import Where


def collects_skips(at: Where, loop: cst.For) -> str | None:
    """A list that the loop adds to and that the function takes apart from its end: `skips.pop()`, or beside another
    list in reverse, `zip(self.ups, reversed(skips))`; None where there is none."""
    names = {name for name in growths(body_of(loop.body)) if at.function is not None}
    for statement in at.body() if names else ():
        for node in nodes_in(statement):
            name = _taken_back(node)
            if name in names:
                return name
    return None


def _taken_back(node: cst.CSTNode) -> str | None:
    match node:
        case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="pop"))):
            return name
        case cst.Call(func=cst.Name(value="zip"), args=args):
            return next((name for name in map(_reversed, (arg.value for arg in args)) if name is not None), None)
        case _:
            return None


def _reversed(node: cst.BaseExpression) -> str | None:
    match node:
        case cst.Call(func=cst.Name(value="reversed"), args=[cst.Arg(value=inner)]):
            return dotted(inner)
        case cst.Subscript(value=inner, slice=[cst.SubscriptElement(slice=cst.Slice(step=cst.UnaryOperation()))]):
            return dotted(inner)
        case _:
            return None
