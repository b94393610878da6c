"""The list from which a stack is built."""

import ast

from scanify.emit.names.fresh_name import fresh
from scanify.emit.unroll.stacks import Built, File

_LISTS = (ast.List, ast.ListComp, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple)
_ITERATORS = frozenset("map zip filter reversed iter enumerate values items keys".split())
_KEYS = frozenset("key keys rng rngs prng seed".split())


def list_of(file: File, built: Built) -> str | None:
    """Return the list of the layers of a stack, as a person writes it; None if the per-layer argument is not clear."""
    return _of(file, built.call) if built.init is None else _of_init(file, built.call, built.init)


def policy_of(file: File, built: Built) -> str | None:
    """Return the policy that a stack is built with, if it is written."""
    return file.parsed.code(built.policy) if built.policy is not None else None


def _of(file: File, call: ast.Call) -> str:
    layers = call.args[0]
    code = file.parsed.code(layers)
    if isinstance(layers, ast.GeneratorExp):
        inside = code[1:-1] if code.startswith("(") else code
        return f"[{inside}]"
    if isinstance(layers, ast.Call) and _last(layers.func) in _ITERATORS:
        return f"list({code})"
    whole = isinstance(layers, (*_LISTS, ast.Call))
    alone = isinstance(file.parents[call], ast.Assign | ast.AnnAssign | ast.Return | ast.keyword)
    return code if whole or (alone and "\n" not in code and "\r" not in code) else f"({code})"


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _of_init(file: File, call: ast.Call, init: ast.Call) -> str | None:
    """Write `[Block(dim, key=k) for k in keys]` for `ArrayStacked.init(n, Block)(dim, key=keys)`."""
    code = file.parsed.code
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return None
    count, module = init.args[0], code(init.args[1])
    every: list[tuple[str | None, ast.expr]] = [(None, each) for each in call.args]
    every += [(each.arg, each.value) for each in call.keywords]
    own = [value for name, value in every if name in _KEYS or _is_split(file, value)]
    taken = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    item = fresh("k", taken)
    given = [
        f"{name}={item if value in own else code(value)}" if name else (item if value in own else code(value))
        for name, value in every
    ]
    element = f"{module}({', '.join(given)})"
    if not own:
        return f"[{element} for _ in range({code(count)})]"
    return f"[{element} for {item} in {code(own[0])}]" if len(own) == 1 else None


def _is_split(file: File, value: ast.expr) -> bool:
    """True if an argument is a key for each layer: it is split in place."""
    match value:
        case ast.Call(func):
            return _last(func) == "split"
        case ast.Subscript(inner):
            return _is_split(file, inner)
    return False
