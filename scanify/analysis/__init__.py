"""From source to plans: the loops over modules, and what each could become.

index ── Module ─> lower ── Loop ─> flow ── LoopShape ─────┐
lists ── LayerList ─> uses ── Uses ────────────────────────┼─> decide ── LoopFact ─> Plan | Refusal
language ── obligations of a body, types of layers, carries ┘

The functions are imported when they are first called, since most files contain no loop to decide about.
"""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.analysis.decided import analyse
    from scanify.analysis.in_cells import as_cells_allow
    from scanify.analysis.remarks.find import remarks_on
    from scanify.analysis.watchers.plans import with_watchers
else:
    analyse = on_call("scanify.analysis.decided", "analyse")
    as_cells_allow = on_call("scanify.analysis.in_cells", "as_cells_allow")
    remarks_on = on_call("scanify.analysis.remarks.find", "remarks_on")
    with_watchers = on_call("scanify.analysis.watchers.plans", "with_watchers")

__all__ = ["analyse", "as_cells_allow", "remarks_on", "with_watchers"]
