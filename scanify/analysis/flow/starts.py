"""What a loop's carries are before the first layer: nothing yet, Python numbers, arrays of numpy; and where the body
needs the value of one that is a Python number."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.flow.names import Names, flow
from scanify.analysis.flow.statements import assignments, statements_in, value_given
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parameters
from scanify.analysis.lower.text import called, dotted

_GROWS = "starts empty and grows with every layer; what a scan carries keeps its shape"
_CONVERSIONS = frozenset("bool int float str range round".split())
_NUMBER_TYPES = frozenset("int float bool complex".split())
_NUMBER_MAKERS = frozenset("len int float bool complex abs round sum ord".split())


class Starts:
    """What the names of one loop's function hold before the loop, as far as assignments there say it."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.scope = loop, loop.scope.function
        node = self.scope.node
        self.body: Sequence[ast.AST] = [] if isinstance(node, ast.Lambda) else getattr(node, "body", [])

    def values(self, name: str) -> tuple[ast.expr, ...]:
        """The values that a name may be assigned before the loop, in source order; those of tuples by their place."""
        start, module = self.loop.place.span.start, self.loop.module
        before = (each for each in assignments(self.body, name) if module.span(each).end <= start)
        return tuple(value for statement in before for value in value_given(statement, name))

    def begins(self, name: str) -> tuple[ast.expr, ...]:
        """What a carry may begin with: of a `reduce` its own expression, with the values that its names may hold."""
        if self.loop.carry is None or self.loop.start is None:
            return self.values(name)
        start = self.loop.start
        parts = start.elts if isinstance(start, ast.Tuple | ast.List) else [start]
        held = [value for part in parts if isinstance(part, ast.Name) for value in self.values(part.id)]
        return (start, *held)

    def defined(self, name: str) -> bool:
        """Whether something outside of the loop may give a name its value before the first layer."""
        if name in self.scope.params:
            return True
        module, start = self.loop.module, self.loop.place.span.start
        inside = set(assignments([self.loop.node], name))
        again = any(isinstance(above, ast.For | ast.While) for above in self._around())
        for statement in assignments(self.body, name):
            span = module.span(statement)
            holds = isinstance(statement, ast.For | ast.With) and span.start < start
            if statement not in inside and (span.end <= start or holds or again):
                return True
        return False

    def _around(self) -> Iterator[ast.AST]:
        for above in ancestors(self.loop.module, self.loop.node):
            if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
                return
            yield above

    # -- numbers ---------------------------------------------------------------------------------------------------

    def is_number(self, name: str) -> bool:
        """Whether a name holds a Python number or flag before the loop, for all that is shown."""
        values = self.values(name)
        return (bool(values) and self.gives_number(values[-1])) or self._number_parameter(name)

    def gives_number(self, value: ast.expr) -> bool:
        match value:
            case ast.Constant():
                return isinstance(value.value, int | float | complex)
            case ast.UnaryOp():
                return self.gives_number(value.operand)
            case ast.BinOp():
                return self.gives_number(value.left) and self.gives_number(value.right)
            case ast.IfExp():
                return self.gives_number(value.body) or self.gives_number(value.orelse)
            case ast.Call():
                builtin = self.loop.scope.builtin(value) in _NUMBER_MAKERS
                return builtin or (self.loop.scope.qualified(value.func) or "").startswith("math.")
            case _:
                return (self.loop.scope.qualified(value) or "").startswith("math.")

    def _number_parameter(self, name: str) -> bool:
        parameter, default = self._parameter(name)
        if parameter is None:
            return False
        if isinstance(default, ast.UnaryOp):
            default = default.operand
        if isinstance(default, ast.Constant) and isinstance(default.value, int | float | complex):
            return True
        return _annotation(parameter) in _NUMBER_TYPES

    def _parameter(self, name: str) -> tuple[ast.arg | None, ast.expr | None]:
        node = self.scope.node
        if not isinstance(node, (*FUNCTIONS, ast.Lambda)):
            return None, None
        args = node.args
        plain = [*args.posonlyargs, *args.args]
        defaults: dict[str, ast.expr | None] = {
            each.arg: value for each, value in zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=True)
        }
        defaults |= {each.arg: value for each, value in zip(args.kwonlyargs, args.kw_defaults, strict=True)}
        parameter = next((each for each in parameters(node) if each.arg == name), None)
        return parameter, defaults.get(name)

    def defaults_to_none(self, name: str) -> bool:
        """Whether a name is a parameter whose default is None, and nothing else is assigned to it before the loop."""
        _, default = self._parameter(name)
        return isinstance(default, ast.Constant) and default.value is None and not self.values(name)

    def is_numpy(self, name: str) -> bool:
        """Whether a name holds an array of numpy before the loop, which operators change in place."""
        parameter, _ = self._parameter(name)
        if parameter is not None and (_annotation(parameter) or "").rpartition(".")[2] == "ndarray":
            return True
        return any(self.gives_numpy(value) for value in self.values(name))

    def gives_numpy(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and (self.loop.scope.qualified(value.func) or "").startswith("numpy.")


def start_problems(loop: Loop, starts: Starts, read: Sequence[str], names: Names) -> Iterator[Problem]:
    """Carries that have no value before the first layer, that start empty, or whose value the body needs."""
    for name in read:
        node = names.read_first[name]
        if not starts.defined(name):
            yield Problem("SCN210", f"the first layer needs `{name}`, which has no value before the loop", node)
        elif any(map(_is_empty, starts.values(name)[-1:])):
            yield Problem("SCN206", f"`{name}` {_GROWS}", node)
    for name, test in concretized(loop):
        if name in read and starts.is_number(name):
            reason = (
                f"needs the value of `{name}`, a Python number that goes from layer to layer; in a scan it is a tracer"
            )
            yield Problem("SCN208", f"`{loop.code(test)}` {reason}", test)
    for statement in statements_in(loop.body):
        if isinstance(statement, ast.AugAssign) and dotted(statement.target) in read:
            name = dotted(statement.target) or ""
            if starts.is_numpy(name):
                yield Problem(
                    "SCN207", f"`{name}` is a numpy array that is changed in place; a scan makes new ones", statement
                )


def reduce_problems(loop: Loop, starts: Starts, names: Names) -> Iterator[Problem]:
    """The same questions of a `reduce`, whose carry begins with an expression."""
    carry = loop.carry or ""
    if carry not in names.read_first:
        yield Problem("SCN210", "no value goes from one layer to the next", loop.node)
    values = starts.begins(carry)
    if any(map(_is_empty, values[-1:])):
        yield Problem("SCN206", f"`{carry}` {_GROWS}", loop.start or loop.node)
    elif _grows(loop, carry):
        yield Problem("SCN206", f"`{carry}` grows with every layer; what a scan carries keeps its shape", loop.node)
    for name in flow([loop.start]).bound if loop.start is not None else ():
        yield Problem("SCN212", f"`{name}` is assigned by `:=` for code around the call", loop.start or loop.node)
    for name, test in concretized(loop):
        if name == carry and any(starts.gives_number(part) for value in values for part in _parts(value)):
            yield Problem("SCN208", f"`{loop.code(test)}` {_needs(name)}", test)


def _parts(value: ast.expr) -> list[ast.expr]:
    """An expression, or the elements of a tuple that is written out."""
    return list(value.elts) if isinstance(value, ast.Tuple | ast.List) else [value]


def _grows(loop: Loop, carry: str) -> bool:
    """Whether a `reduce` adds a list to its carry: `lambda h, layer: h + [layer(h[-1])]`."""
    update = loop.body[0].value if isinstance(loop.body[0], ast.Assign) else None
    match update:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            displays = any(isinstance(each, ast.List | ast.ListComp | ast.Tuple) for each in (left, right))
            return displays and carry in (dotted(left), dotted(right))
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return any(isinstance(each, ast.Starred) and dotted(each.value) == carry for each in elts)
        case _:
            return False


def _needs(name: str) -> str:
    return f"needs the value of `{name}`, a Python number that goes from layer to layer; in a scan it is a tracer"


def start_obligations(loop: Loop, starts: Starts, carry: Sequence[str]) -> Iterator[str]:
    """What a run must show of carries that a loop leaves Python numbers or numpy arrays, and a scan does not."""
    begins = [loop.start.id] if isinstance(loop.start, ast.Name) else []
    for name in carry:
        values, names = starts.begins(name), begins if loop.carry is not None else [name]
        held = next((each.id for each in values if isinstance(each, ast.Name) and starts.is_number(each.id)), None)
        if held is not None and loop.carry is None:
            yield f"`{held}` keeps its dtype, though it starts as a Python number"
        if any(map(starts.is_number, names)) or any(starts.gives_number(value) for value in values):
            yield f"`{name}` keeps its dtype, though it starts as a Python number"
        elif any(starts.gives_numpy(part) for value in values for part in _parts(value)):
            yield f"`{name}` keeps its dtype, though it starts as an array of numpy"


def may_begin_as_none(loop: Loop, name: str) -> bool:
    """Whether a carry may be None before the first layer, as far as assignments and defaults say it."""
    starts = Starts(loop)
    values = [part for value in starts.begins(name) for part in (*_parts(value), value)]
    names = [name, *(value.id for value in values if isinstance(value, ast.Name))]
    if any(isinstance(value, ast.Constant) and value.value is None for value in values):
        return True
    return any(starts.defaults_to_none(each) for each in names)


def _is_empty(value: ast.expr) -> bool:
    return (isinstance(value, ast.List | ast.Tuple) and not value.elts) or (
        isinstance(value, ast.Dict) and not value.keys
    )


def _annotation(parameter: ast.arg) -> str | None:
    if isinstance(parameter.annotation, ast.Constant) and isinstance(parameter.annotation.value, str):
        return parameter.annotation.value
    return dotted(parameter.annotation)


# -- what Python itself needs the value of -----------------------------------------------------------------------------


def concretized(loop: Loop) -> Iterator[tuple[str, ast.expr]]:
    """The names whose values Python itself needs in a body, each with the expression that needs it."""
    for statement in loop.body:
        for test in tests_in(statement):
            for name in dict.fromkeys(_by_value(test)):
                yield name, test


def tests_in(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions whose value Python itself needs: conditions, and what is converted to a number or counted to."""
    for each in nodes_in(node):
        match each:
            case ast.If() | ast.IfExp() | ast.While() | ast.Assert():
                yield each.test
            case ast.comprehension():
                yield from each.ifs
            case ast.Call() if called(each) in _CONVERSIONS:
                yield from each.args
                yield from (keyword.value for keyword in each.keywords)
            case ast.UnaryOp(op=ast.Not()) | ast.BoolOp() | ast.FormattedValue():
                yield each
            case _:
                pass


def _by_value(test: ast.AST) -> Iterator[str]:
    """The names in a condition that stand for their values: not `x` of `x.ndim`, or of `isinstance(x, tuple)`."""
    if isinstance(test, ast.Name):
        yield test.id
    identity = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot)
    if identity or isinstance(test, ast.Attribute | ast.Call | ast.Lambda):
        return
    for child in children(test):
        yield from _by_value(child)
