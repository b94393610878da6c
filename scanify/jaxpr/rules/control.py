"""Rules for control flow: layer scans are unrolled, a choice is made where its index is known.

A `while` needs no rule: its two jaxprs are parameters, and compare by what they compute.
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

# Scans are unrolled up to this many equations each, calls inside counted (500 layers of 400 equations), and up to so
# many in the whole program.
UNROLLED_EQUATIONS = 200_000
UNROLLED_IN_ALL = 500_000


def _scan(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """A scan is its body, `length` times, on row i of the xs; the ys are the rows stacked.

    Both forms are sound, so which is chosen decides only what can be proved. A scan that stands in both programs
    (over time steps, inside a layer) is one node, compared by what its body computes; so is one too long to unroll.
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
    """Whether a scan is one node because it stands in both programs, or because all are while those are sought."""
    if numbering.whole is None:
        numbering.scans.add(scan_key(numbering, scan))
        return True
    return bool(numbering.whole) and scan_key(numbering, scan) in numbering.whole


def scan_key(numbering: "Numbering", scan: Scan) -> Hashable:
    """What a scan computes, but for its operands."""
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
    """Equations that a jaxpr stands for when taken apart: a scan that is unrolled counts its body `length` times."""
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
    """The branch that a constant index names; otherwise a choice between what the branches compute.

    Keyed by the branches' values and not by their jaxprs and operands, because a derivative passes residuals through
    in one version and recomputes them in the other. Each branch has its effects after those before the choice; what
    has happened then is a choice, too.
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
    """The index before `lax.switch` clamps it to the branches that there are, where it was a boolean.

    Any other is another one: XLA takes the last branch where there is none of that number, below zero too.
    """
    table = numbering.table
    if table.op[index] != "clamp":
        return index
    low, inner, high = table.inputs[index]
    ends = [None if value is None else int(value) for value in map(table.value, (low, high))]
    boolean = table.op[inner] == "convert_element_type" and table.dtype[table.inputs[inner][0]] == np.bool_
    return inner if boolean and last >= 1 and ends == [0, last] else index


CONTROL: dict[str, Callable[["Numbering", Any, list[int]], list[int] | None]] = {"scan": _scan, "cond": _cond}
