"""Unroll whole projects, using kept originals or else the source, with a proof.

`kept` stores the originals of rewrites, `merged` merges an old text with later edits, `inverse` checks that a rewrite
gives a text back, and `project` combines them into an `Unrolling`. Nothing is written here.
"""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.unrolling.project import unroll_project
else:
    unroll_project = on_call("scanify.unrolling.project", "unroll_project")  # needs libcst

__all__ = ["unroll_project"]
