"""Scans of one layer: a loop in the program, and the time to compile one, for nothing."""

import ast
from collections.abc import Iterator

from scanify.analysis.plan import Remark
from scanify.analysis.remarks.kinds import whole_number
from scanify.analysis.remarks.scans.forms import INITS, LAX, LIFTED, asked, axis_size
from scanify.analysis.remarks.seen import Seen, argument, keyword

RULE = "SCN333"
_REMEDY = "apply the layer by itself, or give the number of layers where it is configured"


def remarks(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`jax.lax.scan(f, x, xs, length=1)`, `nn.scan(Block, length=1)`, `Stacked.init(Axis("layers", 1), Block)`."""
    known = asked(seen, call)
    length: ast.expr | None = None
    if known in LAX:
        length = argument(call, 3, "length")
    elif known in LIFTED:
        length = keyword(call, "length")
    elif known.endswith(INITS):
        length = axis_size(seen, argument(call, 0, "num_layers", "Block"))
    if length is not None and whole_number(seen, length) == 1:
        yield seen.remark(call, RULE, f"`{seen.code(call.func)}` scans one layer", _REMEDY)
