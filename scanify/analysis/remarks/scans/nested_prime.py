"""Nested scans of haliax over a prime number of layers, which have no divisor to be nested by."""

import ast
from collections.abc import Iterator

from scanify.analysis.plan import Remark
from scanify.analysis.remarks.kinds import whole_number
from scanify.analysis.remarks.scans.forms import axis_size
from scanify.analysis.remarks.seen import Seen, argument, keyword

RULE = "SCN334"
_FEWEST = 5  # of fewer layers nothing is saved however they are nested
_REMEDY = (
    'give the number of layers a divisor near its root, or write `gradient_checkpointing="recompute"`; '
    "`scanify.nn.ArrayStacked` nests any number"
)


def remarks(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`Stacked.init(Axis("layers", 13), Block, gradient_checkpointing="nested")`, `Stacked(stacked, axis, policy)`."""
    known = seen.called(call.func)
    if known.partition(".")[0] not in ("haliax", "levanter"):
        return
    if known.endswith((".Stacked.init", ".ArrayStacked.init")):
        size, policy = (
            axis_size(seen, argument(call, 0, "Block", "num_layers")),
            keyword(call, "gradient_checkpointing"),
        )
    elif known.endswith((".Stacked", ".ArrayStacked")):
        size, policy = (
            axis_size(seen, argument(call, 1, "Block", "num_layers")),
            argument(call, 2, "gradient_checkpointing"),
        )
    else:
        return
    number = whole_number(seen, size) if size is not None and policy is not None and _is_nested(seen, policy) else None
    if number is not None and number >= _FEWEST and _is_prime(number):
        reason = f"{number} layers are nested as 1 times {number}, as {number} is prime: all are run twice for nothing"
        yield seen.remark(call, RULE, reason, _REMEDY, policy)


def _is_nested(seen: Seen, policy: ast.expr) -> bool:
    meant = seen.meant(policy)
    if isinstance(meant, ast.Call):
        if seen.called(meant.func).endswith("ScanCheckpointPolicy.from_bool_or_str") and meant.args:
            meant = meant.args[0]
        elif seen.called(meant.func).endswith("ScanCheckpointPolicy"):
            nested = keyword(meant, "nested")
            return isinstance(nested, ast.Constant) and nested.value is True
    return isinstance(meant, ast.Constant) and meant.value == "nested"


def _is_prime(number: int) -> bool:
    return all(number % each for each in range(2, int(number**0.5) + 1))
