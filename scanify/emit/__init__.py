"""Emission: turn plans into edits and edits into texts, and check each text before it may be written.

A target's module turns plans into edits (`targets/`), `imports` adds the imports they need, `apply` applies them, and
`checks` checks the result. Nothing here reads or writes files. The names below are imported on their first call, since
they need libcst.
"""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.emit.policies import with_policy
    from scanify.emit.rewrite import rewrite_texts
    from scanify.emit.targets.every import policy_at_run_time
    from scanify.emit.targets.fit import fitted, of_framework, sites
    from scanify.emit.targets.releases import form_of, knows_haliax
else:
    with_policy = on_call("scanify.emit.policies", "with_policy")
    rewrite_texts = on_call("scanify.emit.rewrite", "rewrite_texts")
    policy_at_run_time = on_call("scanify.emit.targets.every", "policy_at_run_time")
    fitted, of_framework, sites = (
        on_call("scanify.emit.targets.fit", name) for name in ("fitted", "of_framework", "sites")
    )
    form_of, knows_haliax = (on_call("scanify.emit.targets.releases", name) for name in ("form_of", "knows_haliax"))

__all__ = [
    "fitted",
    "form_of",
    "knows_haliax",
    "of_framework",
    "policy_at_run_time",
    "rewrite_texts",
    "sites",
    "with_policy",
]
