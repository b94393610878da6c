"""Calls that walk a list: `map(f, layers)`, `functools.reduce(f, layers, x)`, and `Sequential(layers)` in the end.

A `reduce` is the loop `for layer in layers: x = f(x, layer)`: the carry is the function's first parameter, the
layer its second. Of what `zip` and `enumerate` walk it is given a tuple: where a lambda takes that apart by number, as
in `pair[0](x, key=pair[1])`, its parts have names in the loop.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scanify.analysis.flow.names import flow
from scanify.analysis.index.module import Module
from scanify.analysis.lower.forms.generators import walked_at_once
from scanify.analysis.lower.forms.rebuild import Change, rebuilt
from scanify.analysis.lower.head import HeadReader
from scanify.analysis.lower.loop import Form, Index, Loop, Problem
from scanify.analysis.lower.nodes import mentions, names_in, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, Scope, adopt, parameters, parent_of
from scanify.analysis.lower.text import dotted, made, root, singular, unused

_REDUCES = ("functools.reduce",)
_SEQUENTIALS = ("equinox.nn.Sequential", "equinox.nn._sequential.Sequential")
_SPLITS = ("split", "keys")


def call_lowered(module: Module, scope: Scope, call: ast.Call) -> Loop | None:
    """The loop that a call of `map`, `reduce` or `Sequential` is; None for other calls."""
    reader = HeadReader(module, scope)
    if reader.builtin(call) == "map":
        return _map(module, scope, call, reader)
    name = scope.qualified(call.func)
    if name in _REDUCES:
        return _Reduction(module, scope, call, reader).loop()
    return _sequential(module, scope, call, reader) if name in _SEQUENTIALS else None


# -- map -------------------------------------------------------------------------------------------------------------


def _map(module: Module, scope: Scope, call: ast.Call, reader: HeadReader) -> Loop | None:
    function, walked = call.args[0], call.args[1:]
    if not isinstance(function, ast.Lambda) or call.keywords or any(isinstance(each, ast.Starred) for each in walked):
        return None
    names = plain_parameters(function)
    if names is None or len(names) != len(walked) or not walked:
        return None
    targets = [made(ast.Name(arg.arg, ast.Store()), arg) for arg in names]
    target, source = _in_step(targets, walked, call)
    head = reader.read(target, source)
    node = _listed(module, call, reader)
    body = (_expression(module, function.body, node),)
    problem = head.problem
    if problem is None and node is call and not walked_at_once(module, scope, node):
        problem = Problem(
            "SCN213", "the `map` may be walked later, or not to its end", node, "make it a list: `list(map(...))`"
        )
    index = replace(head.index, read=True) if head.index is not None else None
    place = module.place(node)
    return Loop(
        module, scope, Form.MAP, node, place, target, head.walks, index, body, element=function.body, problem=problem
    )


def _in_step(targets: Sequence[ast.expr], walked: Sequence[ast.expr], like: ast.expr) -> tuple[ast.expr, ast.expr]:
    """A target and what it walks, for several things that end with the shortest."""
    if len(walked) == 1:
        return targets[0], walked[0]
    name = made(ast.Name("zip", ast.Load()), like)
    return made(ast.Tuple(list(targets), ast.Store()), like), made(ast.Call(name, list(walked), []), like)


def _expression(module: Module, value: ast.expr, parent: ast.AST) -> ast.Expr:
    statement = ast.copy_location(ast.Expr(value), value)
    adopt(module, statement, parent)
    return statement


def _listed(module: Module, call: ast.Call, reader: HeadReader) -> ast.Call:
    """The `list(...)` around a call, or the call itself."""
    above = parent_of(module, call)
    if isinstance(above, ast.Call) and reader.builtin(above) == "list" and above.args == [call] and not above.keywords:
        return above
    return call


def plain_parameters(function: ast.AST) -> tuple[ast.arg, ...] | None:
    """The parameters of a function that has positional ones alone, without defaults; None for another one."""
    args = function.args if isinstance(function, (ast.Lambda, *FUNCTIONS)) else None
    if args is None or args.vararg or args.kwarg or args.kwonlyargs or args.defaults:
        return None
    return parameters(function)


# -- reduce ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Reduction:
    module: Module
    scope: Scope
    call: ast.Call
    reader: HeadReader

    def loop(self) -> Loop | None:
        given = self._given()
        if given is None:
            return None
        function, walked, start = given
        columns = self._columns(walked)
        if isinstance(function, ast.Lambda):
            return self._of_lambda(function, walked, start, columns)
        if dotted(function) is None and not self._is_partial(function):
            return None
        names = names_in([function])
        targets = self._targets(columns, names) if columns is not None else [self._name("layer", names)]
        used = names | {each.id for each in targets}
        carry = start.id if isinstance(start, ast.Name) and start.id not in used else unused("carry", used)
        item: ast.expr = targets[0] if columns is None else made(ast.Tuple(list(targets), ast.Load()), walked)
        arguments = [self._name(carry, ()), _loaded(item)]
        update = made(ast.Call(function, arguments, []), self.call)
        target: ast.expr = targets[0] if columns is None else made(ast.Tuple(list(targets), ast.Store()), walked)
        return self._made(target, walked, carry, update, start, function)

    def _is_partial(self, function: ast.expr) -> bool:
        return isinstance(function, ast.Call) and self.scope.qualified(function.func) == "functools.partial"

    def _of_lambda(
        self, function: ast.Lambda, walked: ast.expr, start: ast.expr | None, columns: list[ast.expr | None] | None
    ) -> Loop | None:
        names = plain_parameters(function)
        if names is None or len(names) != 2 or isinstance(function.body, ast.Lambda):
            return None
        carry, item = names[0].arg, names[1].arg
        if columns is None:
            return self._made(self._name(item, ()), walked, carry, function.body, start)
        targets = self._targets(columns, names_in([function]))
        taken = list(_taken_apart(function.body, item, len(targets)))
        statement = self._update(carry, function.body)
        body, replaced = rebuilt(self.module, [statement], [Change(each, targets[at].id) for each, at in taken])
        target = made(ast.Tuple(list(targets), ast.Store()), walked)
        update = body[0].value if isinstance(body[0], ast.Assign) else function.body
        loop = self._made(target, walked, carry, update, start)
        whole = bool(mentions(item, update)) or any(
            isinstance(each, ast.arg) and each.arg == item for each in nodes_in(function.body)
        )
        problem = (
            Problem(
                "SCN213",
                f"`{item}` is used as a whole, and not only by its parts",
                self.call,
                "use its parts alone: `item[0]`",
            )
            if whole
            else None
        )
        return replace(loop, replaced=replaced, problem=loop.problem or problem)

    def _made(
        self,
        target: ast.expr,
        walked: ast.expr,
        carry: str,
        update: ast.expr,
        start: ast.expr | None,
        function: ast.expr | None = None,
    ) -> Loop:
        head = self.reader.read(target, walked)
        problem = head.problem
        if start is None:
            reason = "`reduce` is given no value to begin with: the first layer would be the carry"
            problem = Problem("SCN213", reason, self.call, "give `reduce` a third argument to begin with")
        body = (self._update(carry, update),)
        index = head.index
        if index is not None:
            index = replace(index, read=isinstance(index.target, ast.Name) and index.target.id in flow(body).read_first)
        place = self.module.place(self.call)
        return Loop(
            self.module,
            self.scope,
            Form.REDUCE,
            self.call,
            place,
            target,
            head.walks,
            index,
            body,
            carry=carry,
            start=start,
            function=function,
            problem=problem,
        )

    def _update(self, carry: str, update: ast.expr) -> ast.Assign:
        statement = ast.copy_location(ast.Assign([made(ast.Name(carry, ast.Store()), update)], update), update)
        adopt(self.module, statement, self.call)
        return statement

    def _name(self, name: str, used: Sequence[str] | set[str]) -> ast.Name:
        return made(ast.Name(unused(name, used), ast.Load()), self.call)

    def _given(self) -> tuple[ast.expr, ast.expr, ast.expr | None] | None:
        """The function, what is walked and the value to begin with, which Python 3.14 takes by keyword too."""
        values = [*self.call.args, *(each.value for each in self.call.keywords)]
        if any(isinstance(each, ast.Starred) for each in values) or len(values) not in (2, 3):
            return None
        if any(each.arg != "initial" for each in self.call.keywords) or len(self.call.args) < 2:
            return None
        return values[0], values[1], values[2] if len(values) == 3 else None

    def _columns(self, walked: ast.expr) -> list[ast.expr | None] | None:
        """What `zip` walks side by side, and `enumerate` beside its numbers, for which there is None."""
        name = self.reader.builtin(walked)
        if not isinstance(walked, ast.Call) or name not in ("zip", "enumerate") or not walked.args:
            return None
        return [None, walked.args[0]] if name == "enumerate" else list(walked.args)

    def _targets(self, columns: Sequence[ast.expr | None], used: set[str]) -> list[ast.Name]:
        """A name for each column that stands for nothing else: `layer` for `self.layers`, `key` for `keys`, `i`."""
        targets: list[ast.Name] = []
        for column in columns:
            walked = dotted(column)
            split = (root(column) is not None) and (dotted(getattr(column, "func", None)) or "").endswith(_SPLITS)
            name = "i" if column is None else singular(walked, "this_") if walked else "key" if split else "item"
            targets.append(self._name(name, used))
            used = {*used, targets[-1].id}
        return targets


def _loaded(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Tuple):
        return made(ast.Tuple([_loaded(each) for each in node.elts], ast.Load()), node)
    assert isinstance(node, ast.Name)
    return made(ast.Name(node.id, ast.Load()), node)


def _taken_apart(node: ast.AST, item: str, count: int) -> list[tuple[ast.Subscript, int]]:
    """Each `item[0]`, `item[1]` in an expression, with its number."""
    taken = []
    for each in nodes_in(node):
        match each:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as number)) if name == item:
                if type(number) is int and 0 <= number < count:
                    taken.append((each, number))
    return taken


# -- Sequential ------------------------------------------------------------------------------------------------------


def _sequential(module: Module, scope: Scope, call: ast.Call, reader: HeadReader) -> Loop | None:
    """`Sequential(layers)`: each call of it walks them, with `x` as the carry. The call itself has no body here."""
    values = [*call.args, *(each.value for each in call.keywords if each.arg == "layers")]
    if len(values) != 1 or isinstance(values[0], ast.Starred):
        return None
    layer = made(ast.Name("layer", ast.Store()), call)
    walk = replace(reader.read(layer, values[0]), index=None)
    update = ast.parse("x = layer(x)").body[0]
    for part in nodes_in(update):
        if isinstance(part, ast.expr | ast.stmt):
            made(part, call)
    adopt(module, update, call)
    start = made(ast.Name("x", ast.Load()), call)
    place = module.place(call)
    index: Index | None = None
    return Loop(
        module, scope, Form.SEQUENTIAL, call, place, layer, walk.walks, index, (update,), carry="x", start=start
    )
