"""One loop that may iterate over modules, in any source form.

`lower.loops.loops_in` makes them. Analyses read `walks`, `index`, `body` or `element`, and never `form`, which only
the code that writes the rewritten loop uses.

Nodes are from the file, or copies with the positions of the nodes they replace. `replaced` has the same replacements
as text.
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
    """The source form of a loop, which decides how it is rewritten."""

    FOR = "for"
    WHILE = "while"
    COMPREHENSION = "comprehension"
    GENERATOR = "generator"
    CALL = "call"


class Order(Enum):
    """The elements of `base` that a walk visits, and their order.

    WHOLE: all, in order. REVERSED: all, from the last one. SLICE: a part, possibly backwards. NUMBERED: the elements at
    `numbers`. VALUES: the values of a dict, in its order. OTHER: an unknown order, through the function named `via`.
    """

    WHOLE = "whole"
    REVERSED = "reversed"
    SLICE = "slice"
    NUMBERED = "numbered"
    VALUES = "values"
    OTHER = "other"


@dataclass(frozen=True)
class Problem:
    """A reason why a loop cannot become a scan: the rule, the reason in words, and the node concerned.

    `remedy` is the advice for this case, if the advice of the rule is too general.
    """

    rule: str
    reason: str
    node: ast.AST
    remedy: str = ""


@dataclass(frozen=True, eq=False)
class Walk:
    """One target and its value in each iteration.

    `source` is the iterable as written, `base` the container at its root: `layers` for `reversed(layers[1:])`. For
    `enc + dec`, `[*enc, *dec]` and `chain(enc, dec)`, `bases` are the lists in order and `base` is the whole; otherwise
    `bases` is `(base,)`.

    `via` names the function called to iterate: "reversed", "values", ...; "" if there is none.

    `text` is the code if its elements are stacked in the call, `beside` the code if they are xs alongside the layers
    (`list(reversed(keys))`: a scan needs a length, and slices); `counted` has as many elements, for use in `len(...)`.

    `element` is the expression for an element taken by number: `self.layers[i]`, `getattr(self, f"layer{i}")` (then
    `base` is `self`); `numbers` are the numbers as an expression, unless they number the whole list.

    `cut`: it is in a `zip` that ends with the shortest, so it may be longer than the others.
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
        """True for a slice: other iterables of the loop may have an element for each layer of the whole list."""
        return self.order is Order.SLICE


@dataclass(frozen=True, eq=False)
class Index:
    """The counter of a loop: the target of `enumerate`, of a `range` in a `zip`, or the keys of `items()`.

    `first` is the start of `enumerate`, if any; `numbers` the expression that is counted through, if any, and
    `numbers_text` its code as a sequence. `read`: the body reads the target.
    """

    target: ast.expr
    numbers_text: str = ""
    first: ast.expr | None = None
    numbers: ast.expr | None = None
    read: bool = False


@dataclass(frozen=True, eq=False)
class Loop:
    """One loop. `node` is replaced when the loop is rewritten; `place` is its place.

    `target` is the whole target of the head; `walks` and `index` are its parts. `body` are the statements of one
    iteration. A loop that yields one value per iteration has it as `element` (comprehensions, generators, and a `for`
    that only appends it to `appends_to`), and that expression is its only statement.

    `replaced` are stretches of the file with their text in the body of one iteration. `problem` is a reason against a
    scan that is already known. `ignored`: a comment ignores the loop; `ignores` are the rules that comments name.
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
        """True if a comment ignores a rule by its code or a prefix of it."""
        return any(code and rule.startswith(code.upper()) for code in self.ignores)

    @property
    def is_statement(self) -> bool:
        """True if it is a statement of its own, not part of an expression."""
        return isinstance(self.node, ast.stmt)

    @property
    def targets(self) -> tuple[str, ...]:
        """The names that the head binds in each iteration, in order, starting with the index."""
        bound = [*([self.index.target] if self.index is not None else []), *(walk.target for walk in self.walks)]
        names = (node.id for target in bound for node in nodes_in(target) if isinstance(node, ast.Name))
        return tuple(dict.fromkeys(names))

    def code(self, node: ast.AST) -> str:
        """Return the text of a node in the body of one iteration, as the rewritten file has it."""
        return ast.unparse(node) if is_made(node) else with_replacements(self.module, node, self.replaced)


def with_replacements(module: Module, node: ast.AST, replaced: tuple[Replacement, ...]) -> str:
    """Return the text of a node with some stretches of it replaced."""
    span = module.span(node)
    text, at = "", span.start
    for each in replaced:
        if span.start <= each.start and each.end <= span.end and each.start >= at:
            text += module.text[at : each.start] + each.text
            at = each.end
    return text + module.text[at : span.end]
