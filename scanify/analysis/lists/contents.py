"""The contents of a list of layers, as far as they are shown."""

import ast
from dataclasses import dataclass, field

from scanify.analysis.classes.nnx import NNX_LIST
from scanify.analysis.lists.home import Home, Repeat
from scanify.analysis.lists.layer_list import Made
from scanify.analysis.obligation import Obligation


@dataclass(frozen=True, eq=False)
class How:
    """How the list is filled at some place: the loops around, whether a condition decides, how often it is repeated."""

    loops: tuple[Repeat, ...] = ()
    conditional: bool = False
    shared: bool = False
    times: str | None = None
    counted: bool = True


PLAIN = How()


@dataclass(eq=False)
class Contents:
    """The shown contents of a list. `data` is an element that is shown to be no module, such as a function, as text.

    `parameters` are the names of parameters of a function whose values are elements, or the list. The other fields are
    those of `LayerList`.
    """

    made: list[Made] = field(default_factory=list)
    open: list[Obligation] = field(default_factory=list)
    parameters: list[tuple[Home, str]] = field(default_factory=list)
    data: str = ""
    optional: bool = False
    of_dict: bool = False
    sequential: bool = False
    may_be_empty: bool = False


def is_empty(home: Home, node: ast.expr) -> bool:
    """`[]`, `()`, `{}`, `list()`, `nnx.List([])`."""
    if isinstance(node, ast.Call):
        makes_list = home.builtin(node) in ("list", "tuple", "dict") or home.library(node) == NNX_LIST
        return makes_list and not node.keywords and all(is_empty(home, each) for each in node.args)
    if isinstance(node, ast.Dict):
        return not node.values
    return isinstance(node, ast.List | ast.Tuple) and not node.elts


def is_placeholder(home: Home, node: ast.expr) -> bool:
    return is_empty(home, node) or is_none(node)


def is_none(node: ast.expr) -> bool:
    """True of the constant None."""
    return isinstance(node, ast.Constant) and node.value is None
