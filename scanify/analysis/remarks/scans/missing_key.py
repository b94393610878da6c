"""Stacks that are built from fewer keys than there are to be layers."""

import ast
import re
from collections.abc import Iterator

from scanify.analysis.lower.scope import parent_of
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.seen import Seen
from scanify.analysis.values.tables import VMAPS

RULE = "SCN337"
_NO_NOUNS = frozenset({"n", "num", "nr", "number", "of", "count", "total", "self", "config", "cfg"})
_WORD = re.compile(r"[A-Za-z][a-z]*")


def remarks(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`eqx.filter_vmap(Block)(keys[1:-2])` of `keys = jax.random.split(key, n_blocks + 2)`: one block too few."""
    if not isinstance(call.func, ast.Call) or seen.called(call.func.func) not in VMAPS or not call.func.args:
        return
    for given in call.args:
        count = _split_into(seen, given)
        if count is None:
            continue
        number, more, left_out, split = count
        if 0 < more < left_out and _is_number_of(seen, number, call):
            text, few = seen.code(number), left_out - more
            some = "one layer fewer" if few == 1 else f"{few} layers fewer"
            reason = (
                f"{some} than `{text}`: of `{text} + {more}` keys the slice `{seen.code(given)}` leaves out {left_out}"
            )
            remedy = f"split the key into `{text} + {left_out}`, or leave out {more}"
            yield seen.remark(given, RULE, reason, remedy, split)


def _split_into(seen: Seen, given: ast.expr) -> tuple[ast.expr, int, int, ast.Call] | None:
    """Of `keys[1:-2]` with `keys = jax.random.split(key, n + 2)`: n, 2, the 3 that are left out, and the split."""
    if not isinstance(given, ast.Subscript) or not isinstance(given.slice, ast.Slice) or given.slice.step is not None:
        return None
    keys = seen.meant(given.value)
    if not isinstance(keys, ast.Call) or seen.called(keys.func) != "jax.random.split" or len(keys.args) != 2:
        return None
    match keys.args[1]:
        case ast.BinOp(left=number, op=ast.Add(), right=ast.Constant(value=int(more))):
            pass
        case ast.BinOp(left=ast.Constant(value=int(more)), op=ast.Add(), right=number):
            pass
        case _:
            return None
    first, last = _literal(given.slice.lower), _literal(given.slice.upper)
    if first is None or last is None or first < 0 or last > 0:
        return None
    return number, more, first - last, keys


def _literal(node: ast.expr | None) -> int | None:
    match node:
        case None:
            return 0
        case ast.Constant(value=int(value)):
            return value or None
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case _:
            return None


def _is_number_of(seen: Seen, number: ast.expr, call: ast.Call) -> bool:
    """Whether a number is called after what is built: `n_blocks` for `FNOBlock`, or for what is named `blocks`."""
    assert isinstance(call.func, ast.Call)
    name = str(getattr(number, "attr", getattr(number, "id", "")))
    nouns = {word.lower().rstrip("s") for word in _WORD.findall(name)} - _NO_NOUNS
    built = seen.module.code(call.func.args[0]).lower()
    statement = next((each for each in _targets(seen, call)), "")
    return any(noun and (noun in built or noun in statement) for noun in nouns)


def _targets(seen: Seen, call: ast.Call) -> Iterator[str]:
    above = parent_of(seen.module, call)
    if isinstance(above, ast.Assign):
        yield from (seen.module.code(each).lower() for each in above.targets)
