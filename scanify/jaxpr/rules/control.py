"""Rules for control flow: layer scans are unrolled, and a choice with a known index is resolved.

`while` needs no rule: its two jaxprs are parameters, compared by the functions they compute.
"""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from scanify.jaxpr.reading.calls import children, opened
from scanify.jaxpr.reading.scan import Scan, read_scan
from scanify.jaxpr.rules import views
from scanify.jaxpr.rules.combine import choose
from scanify.jaxpr.rules.move import row

if TYPE_CHECKING:
    from scanify.jaxpr.number import Numbering

# Limits for unrolling, in equations, including inner calls: per scan (500 layers of 400 equations), and for the
# whole program.
UNROLLED_EQUATIONS = 200_000
UNROLLED_IN_ALL = 500_000


def _scan(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Replace a scan by `length` copies of its body on the rows of the xs; the ys are the stacked rows.

    Unrolling and keeping a scan are both sound, so the choice only affects what can be proved. A scan that is in both
    programs (over time steps, inside a layer) is one node, compared by the function of its body; so is one too long to
    unroll.
    """
    scan = read_scan(equation.params)
    if scan is None:
        return None
    if is_whole(numbering, scan):
        return _as_one(numbering, equation, scan, inputs)
    price = scan.length * cost(numbering, scan.jaxpr)
    if price > UNROLLED_EQUATIONS or numbering.unrolled + price > UNROLLED_IN_ALL:
        numbering.table.notes[f"a scan of length {scan.length} is too long to unroll: compared as a whole"] = None
        return _as_one(numbering, equation, scan, inputs)
    return _unroll(numbering, equation, scan, inputs)


def _as_one(numbering: "Numbering", equation: Any, scan: Scan, inputs: list[int]) -> list[int]:
    since = numbering.table.zeros_left_out
    outputs = numbering.apply(equation, scan_key(numbering, scan), inputs)
    numbering.signs.follow(inputs, outputs, since, equation)
    return outputs


def is_whole(numbering: "Numbering", scan: Scan) -> bool:
    """True if a scan becomes one node, because it is in both programs or because these scans are being collected."""
    if numbering.whole is None:
        numbering.scans.add(scan_key(numbering, scan))
        return True
    return bool(numbering.whole) and scan_key(numbering, scan) in numbering.whole


def scan_key(numbering: "Numbering", scan: Scan) -> Hashable:
    """Return the key of a scan, without its operands."""
    return ("scan", numbering.jaxpr_key(scan.jaxpr), scan.length, scan.reverse, scan.consts, scan.carry)


def _unroll(numbering: "Numbering", equation: Any, scan: Scan, inputs: list[int]) -> list[int]:
    table = numbering.table
    body, body_consts = opened(scan.jaxpr)
    consts, carry = inputs[: scan.consts], inputs[scan.consts : scan.consts + scan.carry]
    xs = inputs[scan.consts + scan.carry :]
    order = range(scan.length)[::-1] if scan.reverse else range(scan.length)
    collected: dict[int, list[int]] = {}
    calls, iterations = numbering.calls, numbering.iterations
    numbering.calls = (*calls, equation)
    numbering.unrolled += scan.length * len(body.eqns)
    for index in order:
        numbering.iterations = (*iterations, index)
        rows = []
        for value in xs:
            since = table.zeros_left_out
            rows.append(row(table, value, index))
            numbering.signs.follow((value,), rows[-1:], since)
        outputs = numbering.run(body, body_consts, [*consts, *carry, *rows])
        carry, collected[index] = outputs[: scan.carry], outputs[scan.carry :]
    numbering.calls, numbering.iterations = calls, iterations
    ys = []
    for position, variable in enumerate(equation.outvars[scan.carry :]):
        shape, since = tuple(variable.aval.shape), table.zeros_left_out
        found = [collected[i][position] for i in range(scan.length)]
        rows = [views.reshape(table, value, (1, *shape[1:])) for value in found]
        ys.append(views.concat(table, rows, 0) if rows else table.zeros(shape, variable.aval.dtype))
        numbering.signs.follow(found, ys[-1:], since)
    return [*carry, *ys]


def cost(numbering: "Numbering", jaxpr: Any) -> int:
    """Count the equations of a jaxpr after inlining: the body of an unrolled scan counts `length` times."""
    inner, _ = opened(jaxpr)
    known = numbering.costs.get(id(inner))
    if known is None:
        known = 0
        for equation in inner.eqns:
            inside = sum(cost(numbering, child) for child in children(equation))
            scan = read_scan(equation.params) if equation.primitive.name == "scan" else None
            if scan is not None and scan.length * inside <= UNROLLED_EQUATIONS and not is_whole(numbering, scan):
                inside *= scan.length
            known += 1 + inside
        numbering.costs[id(inner)] = known
    return known


def _cond(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Return the branch chosen by a constant index, or a choice between the results of the branches.

    The choice is keyed by the branches' results and not by their jaxprs and operands, because a derivative passes
    residuals in one version and recomputes them in the other. The effects of each branch follow those before the
    choice; the effects afterwards are a choice, too.
    """
    table, (index, *operands) = numbering.table, inputs
    branches = equation.params["branches"]
    index = _unclamped(numbering, index, len(branches) - 1)
    known = table.value(index)
    if known is not None and 0 <= int(known) < len(branches):
        return numbering.run(*opened(branches[int(known)]), operands)
    before, results, tokens = numbering.token, [], []
    for branch in branches:
        numbering.token = before
        results.append(numbering.run(*opened(branch), operands))
        tokens.append(numbering.token)
    numbering.token = choose(table, index, tokens)
    chosen = []
    for values in zip(*results, strict=True):
        since = table.zeros_left_out
        chosen.append(choose(table, index, values))
        numbering.signs.follow((index, *values), chosen[-1:], since)
    return chosen


def _unclamped(numbering: "Numbering", index: int, last: int) -> int:
    """Return the index before `lax.switch` clamps it to the number of branches, if it was a boolean.

    Other indices differ: XLA uses the last branch if the index is out of range, even if it is negative.
    """
    table = numbering.table
    if table.op[index] != "clamp":
        return index
    low, inner, high = table.inputs[index]
    ends = [None if value is None else int(value) for value in map(table.value, (low, high))]
    boolean = table.op[inner] == "convert_element_type" and table.dtype[table.inputs[inner][0]] == np.bool_
    return inner if boolean and last >= 1 and ends == [0, last] else index


CONTROL: dict[str, Callable[["Numbering", Any, list[int]], list[int] | None]] = {"scan": _scan, "cond": _cond}
