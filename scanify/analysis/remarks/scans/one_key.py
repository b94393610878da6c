"""Scans that pass one random key to all layers."""

import ast
from collections.abc import Iterator

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.keys import is_one_key
from scanify.analysis.remarks.scans.body import ScanBody, body_of
from scanify.analysis.remarks.scans.forms import LINEN, applied_stack, function_of
from scanify.analysis.remarks.stacks import BLOCK_SEQ, kind_of
from scanify.analysis.remarks.view import View, keyword, names_read

RULE = "SCN330"
_KEYS_ALONE = frozenset("split fold_in key PRNGKey clone key_data wrap_key_data".split())
_SPLIT = "split the key, `jax.random.split(key, number_of_layers)`, and scan over the keys with the layers"


def remarks(view: View, call: ast.Call) -> Iterator[Remark]:
    """Check `jax.lax.scan(lambda x, layer: (layer(x, key=key), None), ...)` and `stack.fold_via(f)(x, key=key)`."""
    body = body_of(view, call)
    if body is not None and body.view.module is view.module:
        yield from _captured(view, call, body)
    yield from _shared(view, call)
    yield from _not_split(view, call)


def _captured(view: View, call: ast.Call, body: ScanBody) -> Iterator[Remark]:
    """Yield a remark on a key from outside the body that is passed to its layer unchanged."""
    for applied in _applying(body):
        for given in (*applied.args, *(each.value for each in applied.keywords)):
            names = list(names_read(given))
            around = [body.given.get(each.id, each) for each in names if each.id not in body.bound]
            varies = any(each.id in body.varying for each in names)
            if not varies and any(is_one_key(view, each) for each in around) and _makes_keys(view, given):
                reason = f"every layer of the scan is given one key, `{view.code(given)}`: all have the same dropout"
                at, other = (call, given) if body.given else (given, call)
                yield view.remark(at, RULE, reason, _SPLIT, other)
                return


def _applying(body: ScanBody) -> Iterator[ast.Call]:
    """Yield calls that apply a layer; if the body multiplies with its weights, also calls that may draw from a key."""
    yield from body.calls_of_layers()
    for node in body.nodes if body.over_layers else ():
        if isinstance(node, ast.Call):
            package, _, last = body.view.called(node.func).rpartition(".")
            if (package == "jax.random" and last not in _KEYS_ALONE) or body.view.body(node.func) is not None:
                yield node


def _makes_keys(view: View, given: ast.expr) -> bool:
    """True if an argument is a key itself, or one derived from it."""
    calls = [each for each in nodes_in(given) if isinstance(each, ast.Call)]
    return all(view.called(each.func).startswith("jax.random.") for each in calls)


def _shared(view: View, call: ast.Call) -> Iterator[Remark]:
    """Yield the remarks on keys among the arguments that all layers of a stack share."""
    stack, made = applied_stack(view, call), view.value(call.func)
    if stack is None or (isinstance(made, ast.Call) and keyword(made, "in_axes") is not None):
        return
    if kind_of(view.project, view.module, stack) in (None, BLOCK_SEQ):
        return
    for given in (*call.args[1:], *(each.value for each in call.keywords)):
        if is_one_key(view, given):
            reason = f"every layer of the stack is given one key, `{view.code(given)}`: all have the same dropout"
            yield view.remark(given, RULE, reason, _SPLIT)


def _not_split(view: View, call: ast.Call) -> Iterator[Remark]:
    """Check `nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True, "dropout": False})`."""
    split = keyword(call, "split_rngs") if function_of(view, call) in LINEN else None
    if not isinstance(split, ast.Dict):
        return
    pairs = zip(split.keys, split.values, strict=True)
    said = {getattr(name, "value", None): getattr(value, "value", None) for name, value in pairs}
    if said.get("params") is True and said.get("dropout") is False:
        reason = "all layers of the scan have the same dropout: its stream of random numbers is not split"
        yield view.remark(split, RULE, reason, 'write `split_rngs={"params": True, "dropout": True}`', call)
