"""One place in the project that looks at the leaves of trees in a way that depends on how layers are stored."""

import ast
from dataclasses import dataclass, field

from scanify.analysis.facts import Place


@dataclass(frozen=True)
class Watcher:
    """`reads` is what it looks at: "the rank of each leaf". `rule` is the rule whose page says what to write instead.

    `attributes` are the names of the fields that it reads alone, None if it may read any. `given` is true if all that
    is known of it is that a model is passed to it. `node` is the code, None for a file that cannot be parsed.
    """

    place: Place
    reads: str
    attributes: frozenset[str] | None = None
    rule: str = ""
    given: bool = False
    node: ast.AST | None = field(default=None, compare=False, repr=False)
