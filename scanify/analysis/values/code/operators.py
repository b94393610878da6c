"""Binary operations: on numbers and arrays, and those that make lists of lists."""

import ast
from collections.abc import Callable

from scanify.analysis.index.meaning import Definition
from scanify.analysis.values.calls.allocate import new_dict, new_list, spread_dict
from scanify.analysis.values.calls.arrays import MASK, of_arrays
from scanify.analysis.values.calls.extents import made_of
from scanify.analysis.values.calls.resizing import of_operator, of_product
from scanify.analysis.values.domain import (
    Array,
    Const,
    Instance,
    Key,
    Listed,
    Mapped,
    Number,
    Text,
    Unknown,
    Value,
    join,
    marked,
    options,
)
from scanify.analysis.values.heap import Does
from scanify.analysis.values.iterations.iteration import elements_of
from scanify.analysis.values.marks import Marks, Vary, merged, raised
from scanify.analysis.values.objects.protocols import TEXT, asked, data_of, note_operation, note_passed
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def combine(run: Interpreter, env: Env, node: ast.AST, left: Value, op: ast.operator, right: Value) -> Value:
    """The value of a binary operation."""
    marks = merged([left.marks, right.marks])
    for option in (*options(left), *options(right)):
        if isinstance(option, Instance):
            run.use_of(option, Does.PASS, node, env, "an operator")
    if (made := _by_methods(run, env, node, left, op, right)) is not None:
        return made
    names = [f"__{each}{METHODS[type(op)]}__" for each in ("", "r")]
    note_operation(run, env, node, [left, right], names)
    if any(isinstance(side, Array) for side in (left, right)) and not any(map(run.classes.acts, names)):
        note_passed(run, [left, right])  # what an array computes with is an array
    if isinstance(op, ast.Mod) and isinstance(left, Text | Const):
        asked(run, env, node, [right], TEXT)
    lists = [one for side in (left, right) for one in options(side) if isinstance(one, Listed)]
    if isinstance(op, ast.Add) and lists:
        return _joined(run, env, node, left, right)
    if isinstance(op, ast.Mult) and lists:
        asked(run, env, node, [left, right], ("__index__",))
    if isinstance(op, ast.Mult) and lists and not (isinstance(left, Array) or isinstance(right, Array)):
        return _repeated(run, env, node, lists[0], right if lists[0] is left else left)
    if isinstance(op, ast.BitOr) and (isinstance(left, Mapped) or isinstance(right, Mapped)):
        cell = new_dict(run, env, node)
        for side in (left, right):
            spread_dict(cell, side, node, env)
        return Mapped(cell)
    if isinstance(left, Array | Key) or isinstance(right, Array | Key):
        made = replace(of_arrays([left, right], marks), born=run.tick())
        if made.cast == MASK and not isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
            made = replace(made, cast="")
        product = isinstance(op, ast.MatMult)
        size = of_product(env, node, left, right) if product else of_operator(op, made.size, (left, right))
        return replace(made, size=size)
    if isinstance(left, Text) or isinstance(right, Text):
        return Text(marks)
    if isinstance(left, Const) and isinstance(right, Const):
        return _folded(left, op, right, marks)
    if isinstance(op, ast.Pow) and isinstance(left, Const) and isinstance(left.value, int):
        few = all(mark.how <= Vary.CARRY_SHAPE or mark.how in (Vary.CHOICE, Vary.LISTED) for mark in right.marks)
        return Number(right.marks if few else raised(right.marks, Vary.OTHER))  # 2**i is a width, which grows
    by_caller = isinstance(op, ast.Mod) and isinstance(left, Number) and isinstance(right, Unknown) and right.given
    if by_caller or all(isinstance(one, Number | Const) for one in (left, right)):
        few = isinstance(op, ast.Mod)  # a remainder is one of a few
        return Number(raised(marks, Vary.CHOICE) if few else marks, made_of(left, op, right))
    why = f"the value of `{env.code(node)}` is unknown"
    computed = all(map(_is_the_same_each_time, (left, right)))
    data, extent = data_of(run, [left, right]), made_of(left, op, right)
    return Unknown(why, env.place(node), marks, run.tick(), computed=computed, extent=extent, data=data)


def _is_the_same_each_time(value: Value) -> bool:
    return isinstance(value, Number | Const) or (isinstance(value, Unknown) and (value.given or value.computed))


METHODS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}


OPERATORS = tuple(f"__{side}{name}__" for name in METHODS.values() for side in ("", "r"))


def _by_methods(run: Interpreter, env: Env, node: ast.AST, left: Value, op: ast.operator, right: Value) -> Value | None:
    """What the methods of the project's classes give for an operator; None where no side has one."""
    from scanify.analysis.values.code.expressions import call_method

    name = METHODS.get(type(op), "")
    for one, other, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
        found = [option for option in options(one) if _has(run, option, method)] if name else []
        if found:
            rest = [option for option in options(one) if option not in found]
            values = [call_method(run, env, node, option, method, [other]) for option in found]
            for each in rest:
                mine, theirs = (each, other) if one is left else (other, each)
                values.append(combine(run, env, node, mine, op, theirs))
            return marked(join(values), merged([left.marks, right.marks]))
    return None


def _has(run: Interpreter, value: Value, method: str) -> bool:
    return (
        isinstance(value, Instance)
        and isinstance(value.cls, Definition)
        and (run.classes.method(value.cls, method) is not None)
    )


_FOLD: dict[type[ast.operator], Callable[[object, object], object]] = {
    ast.Add: lambda a, b: a + b,  # type: ignore[operator]
    ast.Sub: lambda a, b: a - b,  # type: ignore[operator]
    ast.Mult: lambda a, b: a * b,  # type: ignore[operator]
    ast.FloorDiv: lambda a, b: a // b,  # type: ignore[operator]
    ast.Mod: lambda a, b: a % b,  # type: ignore[operator]
}


def _folded(left: Const, op: ast.operator, right: Const, marks: Marks) -> Value:
    fold = _FOLD.get(type(op))
    plain = all(isinstance(one.value, int) and abs(one.value) < 10**9 for one in (left, right))
    numbers = all(isinstance(one.value, int | float | complex) for one in (left, right))
    if fold is not None and (plain or (numbers and any(isinstance(one.value, complex) for one in (left, right)))):
        try:
            return Const(fold(left.value, right.value), marks)
        except (ArithmeticError, TypeError):
            return Number(marks)
    texts = any(isinstance(one.value, str) for one in (left, right))
    return Text(marks) if texts else Number(marks)


def _joined(run: Interpreter, env: Env, node: ast.AST, left: Value, right: Value) -> Value:
    cell = new_list(run, env, node)
    for side in (left, right):
        for option in options(side):
            if isinstance(option, Listed):
                run.use(option.cell, Does.JOIN, node, env)
                cell.is_tuple = option.cell.is_tuple
        spread = elements_of(run, env, side, node)
        cell.groups += spread.groups
        cell.whole, cell.why = cell.whole and spread.whole, cell.why or spread.why
    return Listed(cell, merged([left.marks, right.marks]))


def _repeated(run: Interpreter, env: Env, node: ast.AST, listed: Listed, times: Value) -> Value:
    cell = new_list(run, env, node, is_tuple=listed.cell.is_tuple)
    count = times.value if isinstance(times, Const) and isinstance(times.value, int) else None
    run.use(listed.cell, Does.JOIN, node, env)
    for group in listed.cell.groups:
        total = group.count * count if group.count is not None and count is not None else None
        cell.groups.append(replace(group, count=total))
    cell.whole, cell.repeats = listed.cell.whole, node
    return Listed(cell, times.marks)
