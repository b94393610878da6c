"""Calls of builtins: what they give, and how they use the lists that they are given."""

import ast
from collections.abc import Callable, Mapping, Sequence

from scanify.analysis.values.calls.arrays import concrete, written
from scanify.analysis.values.calls.extents import extent_of
from scanify.analysis.values.calls.given_functions import ask_key, filtered, iterator, mapped
from scanify.analysis.values.calls.methods import copied
from scanify.analysis.values.domain import (
    NONE,
    Array,
    Class,
    Const,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Number,
    Partial,
    Text,
    Unknown,
    Value,
    Walked,
    join,
    marked,
    options,
    sized,
)
from scanify.analysis.values.heap import DictCell, Does, Group, ListCell
from scanify.analysis.values.iterations.iteration import elements_of, iterate
from scanify.analysis.values.marks import AN_ELEMENT, Vary, merged, raised
from scanify.analysis.values.objects import protocols
from scanify.analysis.values.objects.held import held_marks
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter, Made

Named = Mapping[str, Value]
_MAKING = ("__init__", "__post_init__", "__check_init__", "__setattr__")
Handler = Callable[[Interpreter, Env, ast.AST, Sequence[Value], Named], Value]


def _identity(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    return positional[0] if positional else NONE


def _length(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    for option in options(positional[0]) if positional else ():
        if isinstance(option, Listed | Mapped):
            run.use(option.cell, Does.LENGTH, node, env)
            length = option.cell.length() if isinstance(option, Listed) else None
            if length is not None and positional[0] is option:
                return run.churned.read(option.cell, Const(length))
            if marks := run.churned.marks(option.cell, Number()):
                return Number(merged([positional[0].marks, marks]))
        if isinstance(option, Instance) and not isinstance(option.cls, Library):
            from scanify.analysis.values.code.expressions import call_method

            return call_method(run, env, node, option, "__len__", [])
    size = positional[0].size if positional and isinstance(positional[0], Array) else None
    extent = size.extent if size is not None else None
    return Number(positional[0].marks if positional else (), extent.part if extent is not None else None)


def _sorted(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    ask_key(run, env, node, positional, named)
    return _collected(run, env, node, positional, named)


def _collected(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    is_tuple = isinstance(node, ast.Call) and ast.unparse(node.func) == "tuple"
    if not positional:
        return Listed(ListCell(node, env.module, run.tick(), function=env.function, is_tuple=is_tuple))
    if isinstance(positional[0], Listed):
        run.use(positional[0].cell, Does.SLICE, node, env, "copy")
        return copied(run, env, node, positional[0].cell, is_tuple=is_tuple)
    spread = elements_of(run, env, positional[0], node)
    cell = ListCell(node, env.module, run.tick(), function=env.function, is_tuple=is_tuple)
    cell.groups, cell.whole, cell.why, cell.may_lack = spread.groups, spread.whole, spread.why, spread.may_lack
    cell.copied = _walked_cell(positional[0])
    return Listed(cell, sized(positional[0].marks))


def _walked_cell(value: Value) -> ListCell | DictCell | None:
    """The list or dict that `reversed`, `iter` or a view walks."""
    while isinstance(value, Walked) and value.kind in ("reversed", "iter", "values") and value.parts:
        value = value.parts[0]
    return value.cell if isinstance(value, Listed | Mapped) else None


def _walk(kind: str) -> Handler:
    def handler(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
        return Walked(kind, tuple(positional))

    return handler


def _range(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    marks = merged(value.marks for value in positional)
    plain = [value.value for value in positional if isinstance(value, Const) and isinstance(value.value, int)]
    count = len(range(*plain)) if plain and len(plain) == len(positional) and (len(plain) < 3 or plain[2]) else None
    return Walked("range", (), count, marks)


def _dict(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    from scanify.analysis.values.calls.allocate import hide, store_entry

    cell = DictCell(node, env.module, run.tick(), function=env.function)
    cell.entries.update({key: value for key, value in named.items() if not key.startswith("*")})
    for value in positional:
        if isinstance(value, Mapped):
            cell.entries = {**value.cell.entries, **cell.entries}
            cell.groups += value.cell.groups
            cell.whole = cell.whole and value.cell.whole
            continue
        if isinstance(value, Listed) and all(_is_pair(group) for group in value.cell.groups):
            for group in value.cell.groups:
                assert isinstance(group.element, Listed)
                key, one = (part.element for part in group.element.cell.groups)
                own = group.own and group.element.cell.groups[1].own
                store_entry(cell, key, one, group.node, env, group.loops, group.count, group.conditional, own)
            cell.whole = cell.whole and value.cell.whole
            continue
        loop = run.new_loop()
        pair, count = iterate(run, env, value, loop, node, AN_ELEMENT)
        parts = pair.cell.groups if isinstance(pair, Listed) else []
        if len(parts) == 2:
            cell.groups.append(Group(parts[1].element, node, env.module, (loop,), count))
        else:
            hide(cell, value, node, env)
    return Mapped(cell)


def _is_pair(group: Group) -> bool:
    element = group.element
    return isinstance(element, Listed) and element.cell.whole and len(element.cell.groups) == 2


def _number(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    value = positional[0] if positional else Const(0)
    concrete(run, env, node, value)
    return Const(value.value, value.marks) if isinstance(value, Const) else Number(value.marks, extent_of(value))


def _text(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    from scanify.analysis.values.calls.calls import given_away

    given_away(run, env, node, positional, env.code(node.func) if isinstance(node, ast.Call) else "str", Does.TEXT)
    written(run, env, node, positional)
    return Text(held_marks(*positional))


def _extreme(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    """`max(layers, key=weight)` is one of the layers; of numbers it is a number."""
    ask_key(run, env, node, positional, named)
    given = positional[0] if len(positional) == 1 else join(positional)
    held = [given] if len(positional) != 1 else []
    if isinstance(given, Listed | Mapped | Walked):
        held.append(iterate(run, env, given, run.new_loop(), node, "max")[0])
    found = [option for each in held for option in options(each) if isinstance(option, Instance | Listed | Mapped)]
    if not found:
        return _plain_number(run, env, node, positional, named)
    return marked(join(found), run.ambient(env.code(node)))


def _plain_number(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    marks = held_marks(*positional)
    if any(isinstance(value, Array) for value in positional):
        return Array(marks=marks)
    return Number(marks)


def _asked(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    for option in options(positional[0]) if positional else ():
        if isinstance(option, Listed | Mapped):
            run.use(option.cell, Does.TYPE, node, env)
        if isinstance(option, Instance):
            run.use_of(option, Does.TYPE, node, env)
    for value in positional[1:2]:
        protocols.class_asked(run, env, node, value)
    return Number(positional[0].marks if positional else ())


def _type(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    asked = _asked(run, env, node, positional, named)
    if len(positional) == 3:
        run.effect(Act.UNKNOWN, "type", node, env)
        return Unknown("a class that is made", env.place(node), run.ambient("type"))
    owner = positional[0] if positional else None
    if isinstance(owner, Instance) and owner.exact:
        return run.class_value(owner.cls)
    for option in options(owner) if owner is not None else ():
        if isinstance(option, Instance):
            run.typed.add(option.cls.qualname if isinstance(option.cls, Library) else option.cls.node)
    return Unknown("the class of a value", env.place(node), asked.marks)


def _identified(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    for option in options(positional[0]) if positional else ():
        if isinstance(option, Instance | Unknown | Array):
            run.effect(Act.IDENTITY, env.code(node), node, env)
        if isinstance(option, Instance):
            run.touch(option, Does.COMPARE, node, env)
        if isinstance(option, Listed | Mapped):
            run.use(option.cell, Does.COMPARE, node, env)
    plain = all(isinstance(option, Const | Number | Text) for value in positional for option in options(value))
    return Number(merged([held_marks(*positional), () if plain else run.ambient(env.code(node))]))


def _next(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    code = env.code(node.func) if isinstance(node, ast.Call) else "next"
    if not _made_here(node):
        run.effect(Act.OUTSIDE, code, node, env)
    elif positional and isinstance(positional[0], Walked) and _holds_unknown(positional[0]):
        run.effect(Act.UNKNOWN, code, node, env)
    if not positional:
        return Unknown("what `next` gives")
    value = iterate(run, env, positional[0], run.new_loop(), node, "next")[0]
    return value if isinstance(value, Key | Array) else marked(value, run.ambient("next(...)"))


def _made_here(node: ast.AST) -> bool:
    """Whether what `next(...)` is given is made in its arguments: `next(iter(blocks))`, `next(b for b in blocks)`."""
    match node:
        case ast.Call(args=[ast.GeneratorExp(), *_]):
            return True
        case ast.Call(args=[ast.Call(func=ast.Name(id="iter" | "reversed" | "enumerate"), args=[_, *_]), *_]):
            return True
        case _:
            return False


def _holds_unknown(walked: Walked) -> bool:
    """Whether an iterator is made of what may be an iterator itself, which then is used up."""
    inner = walked.parts[0] if walked.parts else walked
    views = ("values", "items", "keys", "range")
    return isinstance(inner, Unknown) or (isinstance(inner, Walked) and inner.kind not in views)


def _get_attribute(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    from scanify.analysis.values.calls.attributes import attribute

    if len(positional) >= 2 and isinstance(positional[1], Const) and isinstance(positional[1].value, str):
        return attribute(run, env, node, positional[0], positional[1].value)
    owner = positional[0] if positional else Unknown("no object")
    picked = raised(merged(value.marks for value in positional[1:]), Vary.CHOICE)
    unknown = Unknown(f"`{env.code(node)}` reads a field by a name that is computed", env.place(node), picked)
    if not isinstance(owner, Instance) or isinstance(owner.cls, Library):
        return unknown
    for value in owner.fields.values():
        if isinstance(value, Listed):
            run.use(value.cell, Does.PASS, node, env, "getattr")
    return join([unknown, *(value for value in owner.fields.values() if isinstance(value, Instance))])


def _set_attribute(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    if len(positional) == 3 and isinstance(positional[1], Const):
        from scanify.analysis.values.code.stores import store_attribute

        for option in options(positional[0]):
            store_attribute(run, env, node, option, str(positional[1].value), positional[2])
        return NONE
    run.effect(Act.WRITE, env.code(node), node, env)
    return NONE


def _replaced(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    """`dataclasses.replace(model, layers=...)`: another object of the class, with other values in some fields."""
    owner = positional[0] if positional else Unknown("no object")
    for option in options(owner):
        for name in named:
            run.replace(option, name, node, env)
    if isinstance(owner, Instance):
        fields = {**owner.fields, **named}
        fields = dict.fromkeys(fields, named["**"]) if "**" in named else fields
        made = replace(owner, fields=fields, origin="dataclasses.replace", node=node, born=run.tick(), taken=None)
        if not isinstance(owner.cls, Library):
            run.constructed.setdefault(owner.cls.node, []).append(Made(made, env.owner, env.function))
            if not run.classes.special_methods(owner.cls).isdisjoint(_MAKING) or run.classes.oddity(owner.cls):
                run.effect(Act.UNKNOWN, env.code(node), node, env)
        return made
    return Unknown("a copy of an object that is not shown", env.place(node))


def _new_object(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    """`object.__new__(cls)`: an object of which nothing is set yet."""
    if positional and isinstance(positional[0], Class):
        return Instance(positional[0].definition, {}, True, False, origin="object.__new__", node=node, born=run.tick())
    return Unknown("a new object of a class that is not shown")


def _attribute_getter(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    """`operator.attrgetter("layers")`, as a partial call that is given the object."""
    return Partial(Library("scanify.get_attributes"), tuple(positional))


def _get_attributes(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    from scanify.analysis.values.calls.attributes import attribute

    *names, owner = positional
    for name in names:
        for part in str(name.value).split(".") if isinstance(name, Const) else ():
            owner = attribute(run, env, node, owner, part)
    return owner


def _made_field(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    return Unknown("a field")


BUILTINS: dict[str, Handler] = {
    "builtins.identity": _identity,
    "builtins.len": _length,
    "builtins.list": _collected,
    "builtins.tuple": _collected,
    "builtins.sorted": _sorted,
    "builtins.set": _collected,
    "builtins.zip": _walk("zip"),
    "itertools.zip_longest": _walk("zip"),
    "itertools.product": _walk("product"),
    "itertools.pairwise": _walk("pairwise"),
    "builtins.enumerate": _walk("enumerate"),
    "builtins.reversed": _walk("reversed"),
    "builtins.iter": iterator,
    "builtins.range": _range,
    "builtins.map": mapped,
    "builtins.filter": filtered,
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "builtins.int": _number,
    "builtins.float": _number,
    "builtins.bool": _number,
    "builtins.complex": _number,
    "builtins.str": _text,
    "builtins.repr": _text,
    "builtins.format": _text,
    "builtins.abs": _plain_number,
    "builtins.min": _extreme,
    "builtins.max": _extreme,
    "builtins.sum": _plain_number,
    "builtins.round": _plain_number,
    "builtins.pow": _plain_number,
    "builtins.divmod": _plain_number,
    "builtins.isinstance": _asked,
    "builtins.issubclass": _asked,
    "builtins.type": _type,
    "builtins.callable": _asked,
    "builtins.hasattr": _asked,
    "builtins.id": _identified,
    "builtins.hash": _identified,
    "builtins.next": _next,
    "builtins.getattr": _get_attribute,
    "builtins.setattr": _set_attribute,
    "object.__setattr__": _set_attribute,
    "builtins.object.__setattr__": _set_attribute,
    "scanify.get_attributes": _get_attributes,
    "operator.attrgetter": _attribute_getter,
    "builtins.object.__new__": _new_object,
    "dataclasses.replace": _replaced,
    "dataclasses.field": _made_field,
    "equinox.field": _made_field,
    "flax.nnx.List": _collected,
}
