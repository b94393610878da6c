"""One loop over things that may be modules, whatever form it has in the file.

`lower.loops.loops_in` makes these; what asks about a loop afterwards asks `walks`, `index`, `body` or `element`, and
never `form`, which is for those who write the rewritten loop in its place.

Nodes are those of the file, or copies of them with the places of what they stand for. `replaced` says in text what the
copies say as nodes.
"""

import ast
from dataclasses import dataclass
from enum import Enum

from scanify.analysis.facts import Place, Replacement
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Scope
from scanify.analysis.lower.text import is_made


class Form(Enum):
    """How a loop is written, as its site is rewritten in a way of its own."""

    FOR = "for"
    WHILE = "while"
    COMPREHENSION = "comprehension"
    GENERATOR = "generator"
    CALL = "call"


class Order(Enum):
    """Which elements of `base` a walk goes through, and in which order.

    WHOLE: all, in theirs. REVERSED: all, from the last one. SLICE: a part, or a part backwards. NUMBERED: those that
    `numbers` count to. VALUES: those of a dict, in its order. OTHER: by a way that is not followed, `via` has its name.
    """

    WHOLE = "whole"
    REVERSED = "reversed"
    SLICE = "slice"
    NUMBERED = "numbered"
    VALUES = "values"
    OTHER = "other"


@dataclass(frozen=True)
class Problem:
    """Why a loop cannot become a scan: the rule, the reason in words, and the node that it points to.

    `remedy` is what to do about this one, where the advice of the rule is too general.
    """

    rule: str
    reason: str
    node: ast.AST
    remedy: str = ""


@dataclass(frozen=True, eq=False)
class Walk:
    """One target, and what it is bound to in each iteration.

    `source` is the expression that is walked as the file has it, `base` the container in the end: `layers` for
    `reversed(layers[1:])`. Of `enc + dec`, of `[*enc, *dec]` and of `chain(enc, dec)` there are several `bases`, one
    after another, and `base` is the whole; else `bases` is `(base,)`.
    `via` names what is called to walk it: "reversed", "values", ...; "" where nothing is.
    `text` is what is to be written where its elements are stacked in the call, `beside` where they are walked beside
    the layers (`list(reversed(keys))`: a scan asks for a length, and slices); `counted` has as many elements, to be put
    into `len(...)`.
    `element` is what stands for an element where it is taken by number: `self.layers[i]`, `getattr(self, f"layer{i}")`
    (then `base` is `self`); `numbers` are the numbers as an expression, where they are not those of the whole list.
    `cut`: it stands in a `zip` that ends with the shortest, so it may be longer than the others.
    """

    target: ast.expr
    source: ast.expr
    base: ast.expr
    text: str
    beside: str
    counted: str
    order: Order = Order.WHOLE
    via: str = ""
    bases: tuple[ast.expr, ...] = ()
    cut: bool = False
    element: ast.expr | None = None
    numbers: str | None = None

    def __post_init__(self) -> None:
        if not self.bases:
            object.__setattr__(self, "bases", (self.base,))

    @property
    def in_part(self) -> bool:
        """True of a slice: other walks of the loop may have an element for each layer of the whole list."""
        return self.order is Order.SLICE


@dataclass(frozen=True, eq=False)
class Index:
    """The counter of a loop: the target of `enumerate`, of `range` in a `zip`, the names of `items()`.

    `first` is where `enumerate` begins, where it says so; `numbers` the expression that is counted through, where there
    is one, and `numbers_text` what is to be written to have those as a sequence. `read`: the body reads the target.
    """

    target: ast.expr
    numbers_text: str = ""
    first: ast.expr | None = None
    numbers: ast.expr | None = None
    read: bool = False


@dataclass(frozen=True, eq=False)
class Loop:
    """One loop. `node` is what is replaced where it is rewritten, `place` where that stands.

    `target` is what the head binds as a whole; `walks` and `index` take it apart. `body` are the statements of one
    iteration. A loop that gives one value in each iteration has it as `element` (comprehensions, generators, and a
    `for` that does nothing but append it to `appends_to`), and no statements but that expression.

    `replaced` are stretches of the file with the texts that stand there in the body of one iteration. `problem` is what
    speaks against it already. `ignored` says that a comment asks for it to be left alone, `ignores` for which rules one
    does.
    """

    module: Module
    scope: Scope
    form: Form
    node: ast.stmt | ast.expr
    place: Place
    target: ast.expr
    walks: tuple[Walk, ...]
    index: Index | None
    body: tuple[ast.stmt, ...]
    element: ast.expr | None = None
    appends_to: str | None = None
    problem: Problem | None = None
    replaced: tuple[Replacement, ...] = ()
    ignored: bool = False
    ignores: frozenset[str] = frozenset()

    def ignores_rule(self, rule: str) -> bool:
        """Whether a comment names a rule, or the beginning of it, to be left alone for."""
        return any(code and rule.startswith(code.upper()) for code in self.ignores)

    @property
    def is_statement(self) -> bool:
        """Whether it is a statement of its own, and no part of an expression."""
        return isinstance(self.node, ast.stmt)

    @property
    def targets(self) -> tuple[str, ...]:
        """The names that the head binds in each iteration, in order, those of the index first."""
        bound = [*([self.index.target] if self.index is not None else []), *(walk.target for walk in self.walks)]
        names = (node.id for target in bound for node in nodes_in(target) if isinstance(node, ast.Name))
        return tuple(dict.fromkeys(names))

    def code(self, node: ast.AST) -> str:
        """The text of a node in the body of one iteration, as the rewritten file is to have it."""
        return ast.unparse(node) if is_made(node) else with_replacements(self.module, node, self.replaced)


def with_replacements(module: Module, node: ast.AST, replaced: tuple[Replacement, ...]) -> str:
    """The text of a node with some stretches of it replaced."""
    span = module.span(node)
    text, at = "", span.start
    for each in replaced:
        if span.start <= each.start and each.end <= span.end and each.start >= at:
            text += module.text[at : each.start] + each.text
            at = each.end
    return text + module.text[at : span.end]
