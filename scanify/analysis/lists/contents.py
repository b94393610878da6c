"""The contents of a list of layers, as far as they are shown."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from scanify.analysis.classes.nnx import NNX_LIST
from scanify.analysis.flow.statements import assignments
from scanify.analysis.lists.home import Home, Repeat
from scanify.analysis.lists.layer_list import Made
from scanify.analysis.lists.statements import Put
from scanify.analysis.lower.scope import ancestors
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
    """The shown contents of a list. `data` is an element that is shown to be no module and no function, as text.

    `lasting` is true of a list of the whole module. `parameters` are the names of parameters of a function whose values
    are elements, or the list. The other fields are those of `LayerList`.
    """

    made: list[Made] = field(default_factory=list)
    open: list[Obligation] = field(default_factory=list)
    parameters: list[tuple[Home, str]] = field(default_factory=list)
    data: str = ""
    optional: bool = False
    functions: bool = False
    several: bool = False
    of_dict: bool = False
    sequential: bool = False
    may_be_empty: bool = False
    lasting: bool = False


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


def exclusive(home: Home, puts: Sequence[Put]) -> bool:
    """True if the branches of one `if` hold the assignments, one each."""
    chains = [[each.statement, *ancestors(home.module, each.statement)] for each in puts]
    for at, mine in enumerate(chains):
        for theirs in chains[at + 1 :]:
            common = next((each for each in mine if each in theirs), None)
            if not isinstance(common, ast.If):
                return False
            below = [chain[chain.index(common) - 1] for chain in (mine, theirs)]
            if (below[0] in common.body) == (below[1] in common.body):
                return False
    return True


def within(node: ast.AST, loops: Sequence[Repeat]) -> bool:
    """True if a statement is inside the innermost of some loops, or if there are no loops."""
    return not loops or any(node is each for each in ast.walk(loops[-1]))


def always_binds(body: Sequence[ast.stmt], name: str) -> bool:
    """True if every way through a block of statements binds a name, unless it leaves the block or raises."""
    for statement in body:
        match statement:
            case ast.If(body=yes, orelse=no):
                if always_binds(yes, name) and always_binds(no, name):
                    return True
            case ast.With(body=inner):
                if always_binds(inner, name):
                    return True
            case ast.Raise() | ast.Continue():
                return True
            case ast.For() | ast.While() | ast.Try() | ast.Match():
                pass
            case _ if assignments([statement], name):
                return True
    return False


def is_none(node: ast.expr) -> bool:
    """True of the constant None."""
    return isinstance(node, ast.Constant) and node.value is None
