"""Decide by names whether a loop iterates over parameters: names of the list, of its elements, or of their class.

A list of batches is iterated over and multiplied like a list of layers: only the names differ.
"""

import ast
import re

from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.scope import parameters
from scanify.analysis.lower.text import root

_PARAMETERS = frozenset(
    "param params parameter parameters weight weights layer layers block blocks stage stages theta thetas mlp mlps "
    "encoder decoder transformer".split()
)
_DATA = frozenset(
    "batch batches data dataset datasets loader example examples sample samples input inputs token tokens sequence "
    "sequences step steps epoch epochs config configs metric metrics state states grad grads gradient gradients update "
    "updates size sizes dim dims width widths feature features image images frame frames observation observations "
    "optimizer optimizers name names shape shapes history population candidates ensemble".split()
)
_JAX = ("jax", "jnp", "lax")
_NAME = re.compile(r"[^\W\d]\w*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def may_walk_parameters(text: str) -> bool:
    """True if a file has `for` and a word of jax: a cheap first check."""
    return "for " in text and any(word in text for word in _JAX)


def called_parameters(loop: Loop, walk: Walk) -> bool:
    """True if a name means parameters, and neither the list's last name nor an element's name means data."""
    holder = root(walk.base)
    given = [each for each in parameters(loop.scope.function.node) if each.arg == holder]
    declared = [name for each in given if each.annotation is not None for name in _names(each.annotation)]
    base, target = _names(walk.base), _names(walk.target)
    return not _words(*base[-1:], *target) & _DATA and bool(_words(*base, *target, *declared) & _PARAMETERS)


def _names(node: ast.AST) -> list[str]:
    """Return the names in an expression, in order, including keys: `params` and `layers` for `params["layers"]`."""
    return _NAME.findall(ast.unparse(node))


def _words(*names: str) -> set[str]:
    return {word.lower() for name in names for word in _WORD.findall(name)}
