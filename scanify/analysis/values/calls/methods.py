"""Methods of lists, dicts, arrays and other values that are no instances of the project's classes."""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.values import tables
from scanify.analysis.values.calls.allocate import hide, store_entry
from scanify.analysis.values.calls.arrays import asked_of_shape, dtype_asked, dtype_marks
from scanify.analysis.values.calls.given_functions import ask_key
from scanify.analysis.values.calls.resizing import cast, combined, of_function
from scanify.analysis.values.data import Data
from scanify.analysis.values.domain import (
    Array,
    Const,
    Instance,
    Key,
    Listed,
    Mapped,
    Method,
    Number,
    Text,
    Unknown,
    Value,
    Walked,
    join,
    marked,
    options,
)
from scanify.analysis.values.heap import DictCell, Does, Group, ListCell
from scanify.analysis.values.iterations.iteration import elements_of
from scanify.analysis.values.marks import Vary, merged, raised
from scanify.analysis.values.objects import protocols
from scanify.analysis.values.objects.held import held_marks
from scanify.analysis.values.objects.identity import note_change
from scanify.analysis.values.objects.key_order import note_order
from scanify.analysis.values.objects.likeness import is_layer
from scanify.analysis.values.objects.part import part_of
from scanify.analysis.values.objects.sharing import made_since
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.churned import ARRAY
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

Named = Mapping[str, Value]

# What changes a list or a dict, and of an array is another thing: numpy's are looked at below.
_ARRAY_CHANGES = frozenset({"fill", "sort", "put", "itemset", "resize", "setflags"})
_OF_ARRAYS = frozenset("add set mul subtract fill sort put itemset resize setflags reverse".split())


def call_builtin_method(
    run: Interpreter, env: Env, node: ast.AST, method: Method, positional: Sequence[Value], named: Named
) -> Value:
    """The value of `owner.name(...)` for an owner that is no instance of the project's classes."""
    protocols.given_method(run, env, node, method.owner, method.name, [*positional, *named.values()])
    match method.owner:
        case Listed(cell=cell):
            ask_key(run, env, node, [method.owner], named)  # of `sort`
            return _of_list(run, env, node, cell, method.name, positional)
        case Mapped(cell=cell):
            return marked(_of_dict(run, env, node, cell, method.name, positional, named), method.owner.marks)
        case Array() | Key() | Text() | Number() if method.name in tables.MUTATORS and method.name not in _OF_ARRAYS:
            return _of_unknown(run, env, node, method, positional, named)
        case Array() as array:
            return _of_array(run, env, node, array, method.name, positional, named)
        case Text() | Const() | Number():
            return _of_text(method, positional, named)
        case Key(split=True) if method.name in tables.PURE_METHODS:
            return Array(marks=method.owner.marks)
        case _:
            return _of_unknown(run, env, node, method, positional, named)


def grow(
    run: Interpreter, env: Env, cell: ListCell, value: Value, node: ast.AST, at: ast.AST, *, front: bool = False
) -> None:
    """Add an element to a list, once an iteration of the loops around that the list was not made in."""
    loops = run.loops_since(cell.born)
    count: int | None = 1
    for region in loops:
        count = count * region.count if count is not None and region.count is not None else None
    conditional = run.conditional_since(cell.born)
    group = Group(
        value,
        node,
        env.module,
        tuple(region.loop for region in loops),
        None if conditional and loops else count,
        conditional=conditional,
        own=made_since(run, value, loops[-1].turn if loops else 0),
        part=part_of(value),
    )
    run.churned.write(cell, cell.born, env.code(at), env.call)
    note_change(run, cell, value)
    lasts = env.function is not None and cell.lasts
    of_it = [each for each in cell.groups if (loops or lasts) and each.node is node]
    if lasts and of_it:  # what other calls put in is still there
        group = replace(group, element=join([*(each.element for each in of_it), value]), count=None, own=False)
    kept = [each for each in cell.groups if each not in of_it]
    cell.groups = [group, *kept] if front else [*kept, group]
    _note_growth(run, env, cell, at)


def _note_growth(run: Interpreter, env: Env, cell: ListCell, at: ast.AST) -> None:
    """Note what adds to a list. One that every call finds as the last one left it holds more than one call puts in."""
    if not any(each is at for each in cell.grown):
        cell.grown.append(at)
    if env.function is not None and cell.lasts:
        cell.whole, cell.why = False, f"each call of `{env.code(at)}` adds to it"
        run.use(cell, Does.CHANGE, at, env, env.code(at))
    run.use(cell, Does.GROW, at, env)


def extend(run: Interpreter, env: Env, cell: ListCell, value: Value, node: ast.AST, at: ast.AST) -> None:
    """Add all elements of a value to a list."""
    loops = run.loops_since(cell.born)
    spread = elements_of(run, env, value, node)
    conditional = run.conditional_since(cell.born)
    cell.whole = cell.whole and spread.whole
    cell.why = cell.why or spread.why
    nodes = {group.node for group in spread.groups}
    kept = [each for each in cell.groups if not (loops and each.node in nodes)]
    around = tuple(region.loop for region in loops)
    for group in spread.groups:
        count = None if loops or conditional else group.count
        own = group.own and (not loops or made_since(run, group.element, loops[-1].turn))
        inner = (*around, *group.loops)
        made = Group(group.element, group.node, group.module, inner, count, True, conditional, own, group.part)
        kept.append(made)
    run.churned.write(cell, cell.born, env.code(at), env.call)
    note_change(run, cell, join(group.element for group in spread.groups) if spread.groups else None)
    cell.groups = kept
    _note_growth(run, env, cell, at)


def changed(run: Interpreter, env: Env, cell: ListCell | DictCell, node: ast.AST, what: str) -> None:
    """Note that an object of the heap is changed in a way that is not followed further."""
    cell.whole, cell.why = False, f"`{what}` changes it"
    run.churned.write(cell, cell.born, what, env.call)
    note_change(run, cell)
    run.use(cell, Does.CHANGE, node, env, what)
    run.effect(Act.WRITE, what, node, env, born=cell.born, root=cell.node)


def written_to(run: Interpreter, env: Env, value: Value, node: ast.AST, what: str) -> None:
    """Note that what may be a list, a dict or an array of numpy is changed in a way that is not followed further."""
    for option in options(value):
        if isinstance(option, Listed | Mapped):
            changed(run, env, option.cell, node, what)
        elif isinstance(option, Array) and option.numpy:
            run.churned.write((ARRAY, option.born), option.born, what, env.call)
            run.effect(Act.WRITE, what, node, env, born=option.born)


def _of_list(
    run: Interpreter, env: Env, node: ast.AST, cell: ListCell, name: str, positional: Sequence[Value]
) -> Value:
    code = env.code(node.func) if isinstance(node, ast.Call) else name
    arguments = node.args if isinstance(node, ast.Call) else []
    if name == "append" and len(positional) == 1:
        from scanify.analysis.values.calls.allocate import keep

        keep(run, env, positional[0], arguments[0] if arguments else node, node)
        grow(run, env, cell, positional[0], arguments[0] if arguments else node, node)
        run.effect(Act.COLLECT, code, node, env, born=cell.born, root=cell.node)
    elif name == "extend" and len(positional) == 1:
        extend(run, env, cell, positional[0], arguments[0] if arguments else node, node)
        run.effect(Act.COLLECT, code, node, env, born=cell.born, root=cell.node)
    elif name == "insert" and len(positional) == 2:
        first = isinstance(positional[0], Const) and positional[0].value == 0
        if not first:
            cell.why, cell.whole = "an element is inserted in the middle", False
        grow(run, env, cell, positional[1], arguments[1] if len(arguments) == 2 else node, node, front=True)
        run.effect(Act.COLLECT, code, node, env, born=cell.born, root=cell.node)
    elif name in ("pop", "remove", "clear", "reverse", "sort") or name in protocols.IN_PLACE:
        element = cell.element() if cell.groups else Unknown("the list is empty")
        changed(run, env, cell, node, code)
        return run.churned.taken(element, cell.born, code)
    elif name in ("add", "update", "discard", "difference_update"):
        again = _is_set(cell) and name in ("add", "discard") and all(_is_fixed(value) for value in positional)
        run.effect(Act.AGAIN if again else Act.WRITE, code, node, env, born=cell.born, root=cell.node)
    elif name in ("union", "intersection", "difference", "issubset", "issuperset", "isdisjoint"):
        return Unknown(f"`{code}(...)` of a set", data=protocols.data_of(run, [Listed(cell), *positional]))
    elif name == "copy":
        if cell.function is not env.function:
            run.use(cell, Does.ATTRIBUTE, node, env, name)  # which a stack has not: nothing changes one
        return copied(run, env, node, cell)
    elif name == "count" or name == "index":
        run.use(cell, Does.COMPARE, node, env)
        for option in (option for group in cell.groups for option in options(group.element)):
            if isinstance(option, Instance):
                run.use_of(option, Does.COMPARE, node, env)
        _looked_for(run, env, node, code, positional)
        return Number(held_marks(*positional))
    else:
        run.use(cell, Does.ATTRIBUTE, node, env, name)
        run.effect(Act.UNKNOWN, code, node, env)
        return Unknown(f"`{code}(...)`")
    return Const(None)


def _looked_for(run: Interpreter, env: Env, node: ast.AST, code: str, values: Sequence[Value]) -> None:
    """Note that a module is looked for in a list: by `==`, which asks arrays for their values where it is not `is`."""
    modules = [
        option
        for value in values
        for option in options(value)
        if isinstance(option, Instance) and is_layer(run, option)
    ]
    if modules:
        run.effect(Act.IDENTITY, code, node, env)
        for option in modules:
            run.touch(option, Does.COMPARE, node, env)


def _is_set(cell: ListCell) -> bool:
    made = cell.node
    called = isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "set"
    return called or isinstance(made, ast.Set | ast.SetComp)


def _is_fixed(value: Value) -> bool:
    """Whether a value is the same constant or text in every iteration, as far as it is known."""
    return isinstance(value, Const | Text) and not value.marks


def copied(run: Interpreter, env: Env, node: ast.AST, cell: ListCell, *, is_tuple: bool = False) -> Listed:
    """Another list of the same elements."""
    other = ListCell(node, env.module, run.tick(), function=env.function, is_tuple=is_tuple)
    other.groups, other.whole, other.why, other.why_at = list(cell.groups), cell.whole, cell.why, cell.why_at
    other.given, other.copied, other.repeats, other.may_lack = cell.given, cell, cell.repeats, cell.may_lack
    return Listed(other)


def _of_dict(
    run: Interpreter, env: Env, node: ast.AST, cell: DictCell, name: str, positional: Sequence[Value], named: Named
) -> Value:
    code = env.code(node.func) if isinstance(node, ast.Call) else name
    if name in ("items", "values", "keys"):
        run.use(cell, Does.WALK, node, env)
        note_order(run, env, cell, node)
        return Walked(name, (Mapped(cell),))
    if name in ("get", "setdefault"):
        key = positional[0] if positional else Unknown("no key")
        known = cell.entries.get(key.value) if isinstance(key, Const) else None
        default = positional[1] if len(positional) > 1 else Const(None)
        if name == "setdefault" and known is None:
            changed(run, env, cell, node, code)
            store_entry(cell, Unknown("a key"), default, node, env, conditional=True)
        value = known if known is not None else cell.value() if cell.entries or cell.groups else default
        value = run.churned.read(cell, value)
        return marked(value, raised(key.marks, Vary.CHOICE))
    if name == "copy":
        other = DictCell(node, env.module, run.tick(), function=env.function)
        other.entries, other.groups, other.whole, other.why = (
            dict(cell.entries),
            list(cell.groups),
            cell.whole,
            cell.why,
        )
        return Mapped(other)
    if name == "update" and all(isinstance(one, Mapped) for one in positional):
        _update(run, env, node, cell, code, positional, named)
        return Const(None)
    if name in tables.MUTATORS or name in protocols.IN_PLACE:
        value = cell.value() if cell.entries or cell.groups else Unknown("a value of an empty dict")
        changed(run, env, cell, node, code)
        if name == "update":
            hide(cell, next((one for one in positional if not isinstance(one, Mapped)), Unknown(code)), node, env)
        return run.churned.taken(value, cell.born, code) if name in tables.TAKERS else run.churned.read(cell, value)
    run.effect(Act.UNKNOWN, code, node, env)
    return Unknown(f"`{code}(...)`")


def _update(
    run: Interpreter, env: Env, node: ast.AST, cell: DictCell, code: str, positional: Sequence[Value], named: Named
) -> None:
    """`d.update(other, key=value)` with dicts that are known."""
    loops = tuple(region.loop for region in run.loops_since(cell.born))
    sure = not loops and not run.conditional_since(cell.born)
    for one in (each for each in positional if isinstance(each, Mapped)):
        groups = list(one.cell.groups)
        if sure:
            cell.entries.update(one.cell.entries)
        else:
            groups += [Group(value, node, env.module, own=True) for value in one.cell.entries.values()]
            groups = [
                replace(
                    each,
                    loops=(*loops, *each.loops),
                    count=None,
                    own=each.own and made_since(run, each.element, run.turn),
                )
                for each in groups
            ]
        nodes = {each.node for each in groups}
        cell.groups = [*(each for each in cell.groups if each.node not in nodes), *groups]
    cell.entries.update(named)
    run.churned.write(cell, cell.born, code, env.call)
    note_change(run, cell)
    run.use(cell, Does.GROW, node, env)
    run.effect(Act.WRITE, code, node, env, born=cell.born, root=cell.node)


def _of_array(
    run: Interpreter, env: Env, node: ast.AST, array: Array, name: str, positional: Sequence[Value], named: Named
) -> Value:
    values = [*positional, *named.values()]
    marks = held_marks(array, *values)
    if name in tables.CONCRETE_METHODS:
        run.effect(Act.CONCRETE, env.code(node), node, env)
        return Number(marks)
    if name not in tables.PURE_METHODS and name not in _OF_ARRAYS:
        return _of_unknown(run, env, node, Method(array, name), positional, named)
    if name == "astype" and positional and isinstance(node, ast.Call) and node.args:
        shape = merged([array.shape, dtype_marks(name, [array, *positional], named)])
        dtype = env.code(node.args[0])
        size = cast(env, node, combined([array]), dtype, positional, named)
        return Array(array.numpy, marks, shape, array.rows, array.born, dtype, size)
    if (name in _ARRAY_CHANGES or name in protocols.IN_PLACE) and array.numpy:
        written_to(run, env, array, node, env.code(node))
    if name in tables.SIZED:
        asked_of_shape(run, env, node, positional, named)
    size = of_function(env, node, name, [array, *positional], named)
    size = cast(env, node, size, dtype_asked(env, node, name, positional), (), named)
    born = array.born if array.numpy or name in tables.MAY_BE_SAME else run.tick()
    shape = merged([array.shape, *(value.marks for value in values), dtype_marks(name, (), named)])
    return Array(array.numpy, marks, shape, born=born, size=size)


def _of_text(method: Method, positional: Sequence[Value], named: Named) -> Value:
    marks = held_marks(method.owner, *positional, *named.values())
    if method.name in ("startswith", "endswith", "isdigit", "is_integer", "bit_length", "count", "find", "index"):
        return Number(marks)
    return Unknown("parts of a text", marks=marks, data=Data.ARRAYS) if "split" in method.name else Text(marks)


def _of_unknown(
    run: Interpreter, env: Env, node: ast.AST, method: Method, positional: Sequence[Value], named: Named
) -> Value:
    from scanify.analysis.values.calls.calls import given_away

    values = [*positional, *named.values()]
    code = env.code(node.func) if isinstance(node, ast.Call) else method.name
    marks = held_marks(method.owner, *values)
    pure = _is_pure(run, method)
    if method.name in tables.SIZED:
        asked_of_shape(run, env, node, positional, named)
    if method.name == "astype" and isinstance(node, ast.Call) and node.args:
        if not pure:
            run.effect(Act.UNKNOWN, code, node, env, argument=_array_of(method))
        return Array(marks=marks, cast=env.code(node.args[0]))
    if isinstance(method.owner, Instance) and method.owner.name == "logging.Logger":
        run.effect(Act.TELLS if method.name in tables.LEVELS else Act.WRITE, code, node, env)
    elif method.name in tables.MUTATORS and not isinstance(method.owner, Walked):
        given_away(run, env, node, values, code)
        act = Act.COLLECT if method.name in tables.GROWERS else Act.WRITE
        run.effect(act, code, node, env, owner=method.owner if isinstance(method.owner, Unknown) else None)
    elif not pure:
        run.effect(Act.UNKNOWN, code, node, env, argument=_array_of(method))
        given_away(run, env, node, values, code)
    born = run.tick() if method.name not in tables.PURE_METHODS else 0
    if method.name in tables.TAKERS:
        marks = merged([marks, run.ambient(code)])
    known = isinstance(method.owner, Unknown) and method.name in tables.PURE_METHODS
    data = protocols.data_of(run, [method.owner]) if known else Data.OPEN
    argument = method.owner.part_at(method.name) if isinstance(method.owner, Unknown) else None
    why = f"`{code}(...)` gives what the source does not show"
    return Unknown(why, env.place(node), marks, born, data=data, argument=argument)


def _array_of(method: Method) -> object:
    """The argument that is an array where a method is one of arrays."""
    return getattr(method.owner, "argument", None) if method.name in tables.PURE_METHODS else None


def _is_pure(run: Interpreter, method: Method) -> bool:
    """Whether a method only gives a value: one of arrays, or of the state that layers of Equinox pass on."""
    owner = method.owner
    if isinstance(owner, Instance):
        return owner.name in tables.STATES and method.name in tables.METHODS_OF_STATES
    data = protocols.data_of(run, [owner]) if isinstance(owner, Array | Text | Number | Unknown) else Data.OPEN
    if data is Data.ARGUMENT:
        return method.name in ("items", "keys", "values") and not run.classes.acts(method.name)
    return data is Data.ARRAYS and method.name in tables.PURE_METHODS
