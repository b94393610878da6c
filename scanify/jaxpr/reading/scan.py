"""The parameters of `scan`, in one form for all versions of jax.

jax 0.10 counts operands (`num_consts`, `num_carry`); jax 0.12 describes them by flat trees (`ft_in`, `ft_out`). Both
are in `jax/_src/lax/control_flow/loops.py`.
"""

from dataclasses import dataclass
from typing import Any

# All parameters with a known meaning. `unroll` and `linear` affect how the loop is compiled and transposed.
KNOWN = {"jaxpr", "length", "reverse", "num_consts", "num_carry", "ft_in", "ft_out", "unroll", "linear"}


@dataclass(frozen=True)
class Scan:
    """`carry, ys = scan(body, consts, carry, xs)`: the numbers of consts and carries; the rest are xs, and ys."""

    jaxpr: Any
    length: int
    reverse: bool
    consts: int
    carry: int


def read_scan(params: dict[str, Any]) -> Scan | None:
    """Parse the parameters of a scan equation, or return None if their form is unknown."""
    if set(params) - KNOWN:
        return None
    if "num_consts" in params:
        consts, carry = params["num_consts"], params["num_carry"]
    else:
        groups = params["ft_in"].unpack()
        if len(groups) != 3:
            return None
        consts, carry = len(groups[0]), len(groups[1])
    return Scan(params["jaxpr"], int(params["length"]), bool(params["reverse"]), consts, carry)
