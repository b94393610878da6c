"""Stacks that are built from fewer keys than there are to be layers."""

import ast
import re
from collections.abc import Iterator

from scanify.analysis.lower.scope import parent_of
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.seen import Seen, names_read

RULE = "SCN337"
_VMAPS = frozenset("jax.vmap equinox.filter_vmap jax.pmap equinox.filter_pmap".split())
_NO_NOUNS = frozenset({"n", "num", "nr", "number", "of", "count", "total", "self", "config", "cfg"})
_MANY = 1000  # keys: as good as all of them
_WORD = re.compile(r"[A-Za-z][a-z]*")


def remarks(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`eqx.filter_vmap(Block)(keys[1:-2])` of `keys = jax.random.split(key, n_blocks + 2)`: one block too few."""
    built = _mapped(seen, call)
    if built is None:
        return
    for given in call.args:
        count = _split_into(seen, given)
        if count is None:
            continue
        number, more, left_out, split = count
        taken = len(_taken_alone(seen, given))
        if 0 < more < left_out and taken < left_out and (taken or _is_number_of(seen, number, call, built)):
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


def _mapped(seen: Seen, call: ast.Call) -> ast.AST | None:
    """What is mapped over the keys: `Block` in `eqx.filter_vmap(Block)(keys)`, a function that is decorated with it."""
    function = seen.meant(call.func)
    if isinstance(function, ast.Call):
        return function.args[0] if seen.called(function.func) in _VMAPS and function.args else None
    found = seen.body(call.func)
    decorators = getattr(found.node, "decorator_list", ()) if found is not None else ()
    mapped = any(seen.called(getattr(each, "func", each)) in _VMAPS for each in decorators)
    return found.node if found is not None and mapped else None


def _taken_alone(seen: Seen, given: ast.expr) -> set[int]:
    """The keys that are taken one by one beside the slice: `keys[0]`, `keys[-1]`. Any other use may take all."""
    assert isinstance(given, ast.Subscript)
    around = seen.function_around(given)
    found: set[int] = set()
    for name in names_read(around) if around is not None and isinstance(given.value, ast.Name) else ():
        above = parent_of(seen.module, name)
        if name.id != getattr(given.value, "id", "") or above is given:
            continue
        number = _literal(above.slice) if isinstance(above, ast.Subscript) and above.value is name else None
        if isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Constant) and above.slice.value == 0:
            number = 0
        if number is None:
            return set(range(_MANY))
        found.add(number)
    return found


def _is_number_of(seen: Seen, number: ast.expr, call: ast.Call, what: ast.AST) -> bool:
    """Whether a number is called after what is built: `n_blocks` for `FNOBlock`, or for what is named `blocks`."""
    name = str(getattr(number, "attr", getattr(number, "id", "")))
    nouns = {word.lower().rstrip("s") for word in _WORD.findall(name)} - _NO_NOUNS
    built = seen.module.code(what).lower()
    statement = next((each for each in _targets(seen, call)), "")
    return any(noun and (noun in built or noun in statement) for noun in nouns)


def _targets(seen: Seen, call: ast.Call) -> Iterator[str]:
    above = parent_of(seen.module, call)
    if isinstance(above, ast.Assign):
        yield from (seen.module.code(each).lower() for each in above.targets)
