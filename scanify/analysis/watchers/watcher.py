"""One place in the project that looks at the leaves of trees in a way that depends on how layers are stored."""

import ast
from dataclasses import dataclass, field

from scanify.analysis.facts import Place


@dataclass(frozen=True)
class Watcher:
    """`reads` says what it looks at: "the rank of each leaf".

    `attributes` are the names of the fields that alone it reads, where it reads some by name. `element_of` is the list
    of which it looks at one element alone, as in `jax.tree.leaves(model.layers[0])`: a stack has the same layer there.
    `rule` is the rule whose page says what to write instead. `given` is true if all that is known of it is that it is
    given a model. `node` is the code that looks, None for a file that cannot be parsed, and `tree` the expression of
    what it looks at, where there is one.
    """

    place: Place
    reads: str
    attributes: frozenset[str] | None = None
    element_of: str | None = None
    rule: str = ""
    given: bool = False
    node: ast.AST | None = field(default=None, compare=False, repr=False)
    tree: ast.expr | None = field(default=None, compare=False, repr=False)
