"""Loops over lists of lists: the names that the body has for a layer, and which of the two loops is over equals."""

from collections.abc import Iterator

import libcst as cst

from scanify.analysis.children import children
from scanify.analysis.names import target_names
from scanify.analysis.project import dotted
from scanify.analysis.skips import collects_skips
from scanify.analysis.where import Where


def element_names(loop: cst.For, target: cst.BaseExpression) -> tuple[str, ...]:
    """The names that the body has for a layer: for the elements of a layer that is a list, too."""
    names = target_names(target)
    inner = [name for one in _walked_in(loop.body, set(names)) for name in target_names(one.target)]
    return tuple(dict.fromkeys([*names, *inner]))


def _walked_in(node: cst.CSTNode, names: set[str]) -> Iterator[cst.For]:
    """The loops in a body over what one of some names holds."""
    if isinstance(node, cst.For) and any(dotted(one) in names for one in _sources(node.iter)):
        yield node
    for child in children(node):
        yield from _walked_in(child, names)


def _sources(walked: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a loop walks: `stage`, `stage[1:]`, `zip(stage, keys)`."""
    yield walked
    if isinstance(walked, cst.Subscript):
        yield walked.value
    for arg in walked.args if isinstance(walked, cst.Call) else ():
        yield from _sources(arg.value)


def unequal_stages(at: Where, loop: cst.For, target: cst.BaseExpression, differ: str | None) -> str | None:
    """Why elements that are each built with its own value of `differ` are left alone; None where they are not.

    Where the body walks each, the inner loops are those over equals. Levels that collect skips change the width, also
    where the source does not show what they are built with.
    """
    walked = any(True for _ in _walked_in(loop.body, set(target_names(target))))
    if walked and differ:
        return f"each element is a list of layers of its own, built with its own value of `{differ}`"
    skips = collects_skips(at, loop) if walked or differ else None
    if skips is None:
        return None
    how = f"is built with its own value of `{differ}`" if differ else "has a list of layers of its own"
    return f"each level {how}, and its `{skips}` are for the way back"
