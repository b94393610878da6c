"""The way back for whole projects: what a rewrite has kept, or else what can be read off the source, and the proof.

`kept` is what rewrites leave behind, `merged` brings an old text and later edits together, `inverse` says whether a
rewrite gives a text back, and `project` joins them into an `Unrolling`. Nothing is written here.
"""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.unrolling.project import unroll_project
else:
    unroll_project = on_call("scanify.unrolling.project", "unroll_project")  # which needs libcst

__all__ = ["unroll_project"]
