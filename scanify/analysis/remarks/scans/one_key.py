"""Scans that give all layers one random key."""

import ast
from collections.abc import Iterator

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.kinds import is_one_key
from scanify.analysis.remarks.scans.body import ScanBody, body_of
from scanify.analysis.remarks.scans.forms import LINEN, applied_stack, asked
from scanify.analysis.remarks.seen import Seen, keyword, names_read
from scanify.analysis.remarks.stacks import BLOCK_SEQ, kind_of

RULE = "SCN330"
_KEYS_ALONE = frozenset("split fold_in key PRNGKey clone key_data wrap_key_data".split())
_SPLIT = "split the key, `jax.random.split(key, number_of_layers)`, and scan over the keys with the layers"


def remarks(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`jax.lax.scan(lambda x, layer: (layer(x, key=key), None), ...)`, `stack.fold_via(Block.__call__)(x, key=key)`."""
    body = body_of(seen, call)
    if body is not None:
        yield from _captured(seen, call, body)
    yield from _given(seen, call)
    yield from _not_split(seen, call)


def _captured(seen: Seen, call: ast.Call, body: ScanBody) -> Iterator[Remark]:
    """A key from around the body that its layer is given as it is."""
    if body.seen.module is not seen.module:
        return
    for applied in _applying(body):
        for given in (*applied.args, *(each.value for each in applied.keywords)):
            names = list(names_read(given))
            if not names or any(each.id in body.turns for each in names):
                continue
            around = [each for each in names if each.id not in body.bound]
            keys = [body.ahead.get(each.id, each) for each in around]
            if any(is_one_key(seen, each) for each in keys) and _gives_key(seen, call, given):
                text = seen.code(given)
                reason = f"every layer of the scan is given one key, `{text}`: all have the same dropout"
                at, other = (given, call) if not body.ahead else (call, given)
                yield seen.remark(at, RULE, reason, _SPLIT, other)
                return


def _applying(body: ScanBody) -> Iterator[ast.Call]:
    """The calls that apply a layer, and in a body that multiplies with its weights those that draw something."""
    yield from body.calls_of_layers()
    if body.over_layers:
        for node in body.nodes:
            called = body.seen.called(node.func) if isinstance(node, ast.Call) else ""
            drawn = called.startswith("jax.random.") and called.rpartition(".")[2] not in _KEYS_ALONE
            if isinstance(node, ast.Call) and (drawn or body.seen.body(node.func) is not None):
                yield node


def _given(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """A key among the arguments that all layers of a stack share."""
    stack = applied_stack(call)
    kind = kind_of(seen.index, seen.module, stack) if stack is not None else None
    shared = kind is not None and kind != BLOCK_SEQ
    if not shared or (isinstance(call.func, ast.Call) and keyword(call.func, "in_axes") is not None):
        return
    for given in (*call.args[1:], *(each.value for each in call.keywords)):
        if not isinstance(given, ast.Starred) and is_one_key(seen, given):
            reason = f"every layer of the stack is given one key, `{seen.code(given)}`: all have the same dropout"
            yield seen.remark(given, RULE, reason, _SPLIT)


def _not_split(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True, "dropout": False})`."""
    split = keyword(call, "split_rngs") if asked(seen, call) in LINEN else None
    if not isinstance(split, ast.Dict):
        return
    said = {
        name.value: value.value
        for name, value in zip(split.keys, split.values, strict=True)
        if isinstance(name, ast.Constant) and isinstance(value, ast.Constant)
    }
    if said.get("params") is True and said.get("dropout") is False:
        reason = "all layers of the scan have the same dropout: its stream of random numbers is not split"
        yield seen.remark(split, RULE, reason, 'write `split_rngs={"params": True, "dropout": True}`', call)


def _gives_key(seen: Seen, site: ast.Call, given: ast.expr) -> bool:
    """Whether what is given is the key itself, or one that is made of it and of nothing that is another each turn."""
    calls = [each for each in nodes_in(given) if isinstance(each, ast.Call)]
    return all(seen.called(each.func).startswith("jax.random.") for each in calls)
