"""Rematerialisation policies that keep values by names that no code attaches."""

import ast
import re
from collections.abc import Iterator

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.view import View, keyword

RULE = "SCN335"
_ONLY = frozenset(
    f"{module}.{name}"
    for module in ("jax.checkpoint_policies", "jax.ad_checkpoint.checkpoint_policies")
    for name in ("save_only_these_names", "save_and_offload_only_these_names")
)
_LISTS = ("names_which_can_be_saved", "names_which_can_be_offloaded", "save_block_internals", "offload_block_internals")
_REMEDY = "attach each name where its value is computed: `x = jax.ad_checkpoint.checkpoint_name(x, {name!r})`"


def remarks(view: View, call: ast.Call) -> Iterator[Remark]:
    """Check `save_only_these_names("attention")` in a project without `checkpoint_name(x, "attention")`."""
    known = view.called(call.func)
    if known not in _ONLY and not known.endswith("ScanCheckpointPolicy"):
        return
    lists = [keyword(call, name) for name in _LISTS]
    given = [*(call.args if known in _ONLY else ()), *(each for each in lists if each is not None)]
    named = [each for part in given for each in nodes_in(part)]
    if any(isinstance(each, ast.Starred | ast.Name | ast.Attribute | ast.Call) for each in named):
        return  # some names are unknown
    texts = {each.value: each for each in named if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    missing = [name for name in texts if not _stands_elsewhere(view, call, name)]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        reason = f"the policy keeps {names} and nothing in the project is called so: all of it is computed again"
        yield view.remark(texts[missing[0]], RULE, reason, _REMEDY.format(name=missing[0]), call)


def _stands_elsewhere(view: View, call: ast.Call, name: str) -> bool:
    """True if a string occurs anywhere else in the project: that code may attach the name."""
    quoted = re.compile(rf"""(["']){re.escape(name)}\1""")
    span = view.module.span(call)
    for path in view.project.index.paths:
        source = view.project.index.source(path)
        if source is None or name not in source.text:
            continue
        for match in quoted.finditer(source.text):
            if path != view.module.path or not span.start <= match.start() < span.end:
                return True
    return False
