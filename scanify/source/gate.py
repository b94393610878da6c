"""The cheap gate before libcst: could this file hold a loop over layers at all?

`ast.parse` is about fifteen times faster than `libcst.parse_module`, so most files never reach libcst. The gate may
let through too much, never too little: it knows nothing of equinox, since a loop over modules may stand in a file that
never imports it.
"""

import ast
import re
import warnings
from collections.abc import Iterator

_FOR = re.compile(r"\bfor\b")


def may_hold_layer_loop(text: str) -> bool:
    """Whether a `for` in the file calls its own target, as `x = layer(x)` and `x = layer.attn(x)` do.

    A text that the running Python cannot parse passes: libcst may know syntax that this Python does not, and where
    libcst fails too, its message is the better one.
    """
    if not _FOR.search(text):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are not ours to report
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(_applies_its_target(node) for node in ast.walk(tree) if isinstance(node, ast.For | ast.AsyncFor))


def _applies_its_target(loop: ast.For | ast.AsyncFor) -> bool:
    """`layer(x)` anywhere in the body, or `x = layer.method(..., x, ...)`."""
    targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in targets:
                if node.args or node.keywords:
                    return True
            elif isinstance(node, ast.Call) and any(
                isinstance(value, ast.Name) and value.id in targets for value in _values(node)
            ):
                return True  # jax.checkpoint(layer)(x), jax.vmap(layer)(x), apply(layer, x)
            elif isinstance(node, ast.Assign) and _rebinds_through(node, targets):
                return True
    return False


def _values(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


def _rebinds_through(node: ast.Assign, targets: set[str]) -> bool:
    bound = {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    for call in ast.walk(node.value):
        if isinstance(call, ast.Call) and _root(call.func) in targets:
            read = {name.id for value in _values(call) for name in ast.walk(value) if isinstance(name, ast.Name)}
            if read & bound:
                return True
    return False


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None
