"""Calls: what calling a value gives, and what it does besides."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from scanify.analysis.values import tables
from scanify.analysis.values.calls.arrays import draws, draws_array
from scanify.analysis.values.calls.attributes import attribute
from scanify.analysis.values.calls.functions.again import Begun
from scanify.analysis.values.calls.functions.binding import bind_parameters
from scanify.analysis.values.calls.functions.decorated import (
    decorators_of,
    note_kept,
    note_rules,
    through_decorators,
)
from scanify.analysis.values.calls.functions.supers import LIBRARY_INIT, library_init, super_object
from scanify.analysis.values.calls.resizing import sizes_of
from scanify.analysis.values.code.annotations import annotated
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.domain import (
    Array,
    Class,
    Function,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Method,
    OneOf,
    Partial,
    Unknown,
    Value,
    is_none,
    join,
    marked,
    options,
)
from scanify.analysis.values.heap import Does
from scanify.analysis.values.iterations.iteration import elements_of
from scanify.analysis.values.marks import Marks, Vary, merged, raised
from scanify.analysis.values.objects.held import held_marks
from scanify.analysis.values.objects.identity import generalized, is_coarse, memo_key
from scanify.analysis.values.objects.protocols import data_of, unpacked
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.effects import Act, Effect
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import MAX_DEPTH, Interpreter
from scanify.analysis.values.size import SAME

Named = Mapping[str, Value]


def call_node(run: Interpreter, env: Env, node: ast.Call) -> Value:
    """The value of a call as it stands in the source."""
    if isinstance(node.func, ast.Name) and node.func.id == "super" and env.lookup("super") is None:
        return super_object(run, env, node)
    function = evaluate(run, env, node.func)
    if isinstance(node.func, ast.Attribute) and node.func.attr in tables.MUTATORS:
        from scanify.analysis.values.code.stores import touch_by_name

        touch_by_name(run, env, node.func.value, node)
    positional: list[Value] = []
    unclear = False
    for each in node.args:
        value = evaluate(run, env, each)
        if not isinstance(each, ast.Starred):
            positional.append(value)
            continue
        spread = elements_of(run, env, value, each)
        exact = spread.whole and all(group.count == 1 and not group.loops for group in spread.groups)
        unclear = unclear or not exact
        positional += [group.element for group in spread.groups]
    named: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluate(run, env, keyword.value)
        if keyword.arg is not None:
            named[keyword.arg] = value
        elif isinstance(value, Mapped):
            named.update({key: one for key, one in value.cell.entries.items() if isinstance(key, str)})
            named.setdefault(
                "**",
                Unknown("a part of the keyword arguments is not shown", marks=value.marks, data=data_of(run, [value])),
            )
        else:
            unpacked(run, env, node, value)
            given_away(run, env, node, [value], _called_text(env, node))
            data = data_of(run, [value])
            named["**"] = Unknown("the keyword arguments are not shown", marks=value.marks, data=data)
    if unclear:
        named["*"] = Unknown("the number of arguments is not shown", data=data_of(run, positional))
    return call(run, env, node, function, positional, named)


def call(
    run: Interpreter, env: Env, node: ast.AST, function: Value, positional: Sequence[Value], named: Named
) -> Value:
    """The value that calling `function` gives."""
    run.steps += 1
    match function:
        case OneOf():
            called = [option for option in options(function) if not is_none(option)]  # to call None is an error
            made = [call(run, env, node, option, positional, named) for option in called]
            return marked(join(made), raised(function.marks, Vary.CHOICE))
        case Function():
            return marked(call_function(run, env, node, function, positional, named), function.marks)
        case Class():
            from scanify.analysis.values.calls.construct import construct

            return marked(construct(run, env, node, function.definition, positional, named), function.marks)
        case Library():
            from scanify.analysis.values.calls.library import call_library

            return call_library(run, env, node, function, positional, named)
        case Partial():
            return _partial(run, env, node, function, positional, named)
        case Method():
            from scanify.analysis.values.calls.methods import call_builtin_method

            return call_builtin_method(run, env, node, function, positional, named)
        case Instance():
            return _instance(run, env, node, function, positional, named)
        case _:
            return unknown_call(run, env, node, function, positional, named)


def _partial(
    run: Interpreter, env: Env, node: ast.AST, function: Partial, positional: Sequence[Value], named: Named
) -> Value:
    arguments = [*function.positional, *positional]
    keywords = {**dict(function.named), **named}
    if isinstance(function.function, Function):
        note_rules(run, env, node, function.function, function.through)
    if function.through.startswith(LIBRARY_INIT):
        return library_init(run, function, positional, named)
    if function.through in tables.VMAPS:
        made = call(run, env, node, function.function, [_row(one) for one in arguments], keywords)
        return stacked(env, node, made, arguments)
    made = call(run, env, node, function.function, arguments, keywords)
    # One of a list of partials, each with its own arguments: `[partial(Block, dilation=2**i) for i in range(4)]`.
    own = any(value.marks for value in (function.function, *function.positional, *dict(function.named).values()))
    return marked(made, function.marks) if own and isinstance(made, Instance) else made


def _row(value: Value) -> Value:
    return Key(value.marks) if isinstance(value, Key) and value.many else value


def stacked(env: Env, node: ast.AST, value: Value, arguments: Sequence[Value]) -> Value:
    """What a function gives under vmap: arrays with one more axis, and layers that are stacked already.

    Where some arguments may be given whole to each call, an array may have another axis than they.
    """
    if isinstance(value, Array) and value.size is not None and not (value.size.changed and len(arguments) == 1):
        walked = _walks_all(node) and any(each.space == SAME and not each.each for each in sizes_of(arguments))
        size = replace(value.size, scalar=False) if walked else value.size.lost(env.code(node), env.place(node))
        return replace(value, size=size)
    if isinstance(value, Instance):
        return replace(value, exact=False, origin="stacked", taken=None)
    return value


def _walks_all(node: ast.AST) -> bool:
    """Whether a call of a function under vmap walks the first axis of all arguments: `jax.vmap(self.mix)(x, keys)`."""
    match node:
        case ast.Call(func=ast.Call(args=[_], keywords=keywords)):
            return all(isinstance(each.value, ast.Constant) and each.value.value == 0 for each in keywords)
        case _:
            return False


def _instance(
    run: Interpreter, env: Env, node: ast.AST, owner: Instance, positional: Sequence[Value], named: Named
) -> Value:
    run.effect(Act.APPLY, owner.name, node, env)
    inherited = run.classes.library_base(owner.cls, "__call__") if not isinstance(owner.cls, Library) else None
    if inherited is not None:
        owner = replace(owner, cls=Library(inherited))
    if not isinstance(owner.cls, Library):
        method = attribute(run, env, node, owner, "__call__")
        return call(run, env, node, method, positional, named)
    from scanify.analysis.values.calls.functions.layers import call_library_instance

    return call_library_instance(run, env, node, owner, positional, named)


def unknown_call(
    run: Interpreter, env: Env, node: ast.AST, function: Value, positional: Sequence[Value], named: Named
) -> Value:
    """A call of what the source does not show: it may do anything, also with the lists that it is given."""
    text = _called_text(env, node)
    if not run.exhausted:  # else all that is left is unknown, which is said once
        run.effect(Act.UNKNOWN, text, node, env)
    given_away(run, env, node, [*positional, *named.values()], text)
    given = node.args if isinstance(node, ast.Call) and len(node.args) == len(positional) else []
    ordered = [_of_its_own(value, given[at] if given else None) for at, value in enumerate(positional)]
    marks = merged([function.marks, *ordered, *(value.marks for value in named.values())])
    marks = merged([marks, held_marks(function, *positional, *named.values())])
    if not isinstance(function, Library) and draws(node, [*positional, *named.values()]):
        marks = merged([marks, run.ambient(text)])
        if draws_array(node):
            return Array(True, marks, born=run.tick())
    return Unknown(f"`{text}(...)` gives what the source does not show", env.place(node), marks, run.tick())


def _of_its_own(value: Value, node: ast.expr | None) -> Marks:
    """The marks of an argument: an element of a table that is not shown may be anything, a width too."""
    taken = isinstance(value, Unknown) and isinstance(node, ast.Subscript)
    numbered = all(mark.how is Vary.NUMBER for mark in value.marks)
    return raised(value.marks, Vary.OTHER) if taken and numbered else value.marks


def _called_text(env: Env, node: ast.AST) -> str:
    return env.code(node.func) if isinstance(node, ast.Call) else env.code(node)


def given_away(
    run: Interpreter, env: Env, node: ast.AST, values: Sequence[Value], text: str, does: Does = Does.PASS
) -> None:
    """Note the lists that a call of something unknown is given, or that become text."""
    for value in values:
        for option in options(value):
            if isinstance(option, Listed | Mapped):
                run.use(option.cell, does, node, env, text)
            if isinstance(option, Instance):
                run.use_of(option, does, node, env, text)
            if does is Does.PASS:
                given_whole(run, env, node, option)


def given_whole(run: Interpreter, env: Env, node: ast.AST, value: Value) -> None:
    """Note that an object, or one behind its method, is kept where the source does not show it, while a model is made:
    there it is no row of a stack, and a weak reference to it dies where it is stacked. Elements of a list are given as
    what the list has."""
    owner = value.bound if isinstance(value, Function) else value
    if isinstance(owner, Instance) and owner.taken is None and run.building and run.replacing is None:
        run.touch(owner, Does.PASS, node, env)


# -- functions of the project ----------------------------------------------------------------------------------------


def call_function(
    run: Interpreter, env: Env, node: ast.AST, function: Function, positional: Sequence[Value], named: Named
) -> Value:
    """Run a function of the project, or remember what it gave and did for the same arguments."""
    if run.shallow and any(not isinstance(each, ast.ClassDef) for each in run.calling):
        return _declared(run, function)
    depth = sum(1 for each in run.calling if each is function.node)
    if depth > 0 or len(run.calling) > MAX_DEPTH or run.exhausted:
        if not run.exhausted:
            run.effect(Act.UNKNOWN, _called_text(env, node), node, env)
        if depth:
            run.cut = min(run.cut, run.calling.index(function.node))
        why = f"`{function.name}` calls itself" if depth else "calls too deep to be followed"
        return Unknown(why, born=run.tick())
    if is_coarse(run):
        positional = [generalized(value) for value in positional]
        named = {name: generalized(value) for name, value in named.items()}
    key = memo_key(run, function, positional, named)
    known = run.memo.get(key) if key is not None else None
    arguments = (function.bound, *positional, *named.values())
    same = known.again(run, arguments) if known is not None else None
    if same is not None:
        value, effects = same
    else:
        begun = Begun(run)
        with run.recording() as recorded:
            value = _run_function(run, env, node, function, positional, named)
        effects = tuple(_outward(run, function, recorded, begun))
        begun.ended(run, key, function.node, arguments, value, effects, function.env)
    if isinstance(function.bound, Instance):
        run.effect(Act.APPLY, function.bound.name, node, env)
    run.effects.extend(effects)
    return value


def _declared(run: Interpreter, function: Function) -> Value:
    """What a function that is not run says that it gives."""
    returns = getattr(function.node, "returns", None)
    said = annotated(run, function.env, returns, function.name) if returns is not None else None
    return said or Unknown(f"`{function.name}` is not run", born=run.tick())


def _called(function: Function) -> str:
    """The name of a function in messages: `Block.__call__` for a method."""
    owner = function.env.owner if function.env.function is None else None
    return f"{owner.name}.{function.name}" if owner is not None else function.name


_WRITES = (Act.WRITE, Act.COLLECT)


def _outward(run: Interpreter, function: Function, recorded: Sequence[Effect], begun: Begun) -> Iterator[Effect]:
    """What a call does as its caller sees it, each once.

    What it changes of objects of its own is nobody's matter, nor is what it asks of values that differ in its own loops
    alone: those are over.
    """
    name = _called(function)
    seen: set[object] = set()
    for effect in recorded:
        act = effect.act
        if act is Act.SUPER:
            continue
        if effect.marks:
            marks = tuple(mark for mark in effect.marks if not begun.entered(mark.loop))
            if not marks:
                continue
            effect = effect if len(marks) == len(effect.marks) else replace(effect, marks=marks)
        if (act in _WRITES or act is Act.CONCRETE) and run.is_fresh(effect.born, begun.clock):
            if not effect.guess:
                continue
            act = Act.OWN if act in _WRITES else act
        key: object = act, effect.what
        if act is not Act.APPLY:
            born = effect.born if act in _WRITES or act is Act.CONCRETE else 0
            written = born, effect.root, effect.holder, effect.argument
            key = act, effect.what, effect.node, effect.inside, *written, effect.marks, effect.guess
        if key not in seen:
            seen.add(key)
            same = act is effect.act and effect.inside
            yield effect if same else replace(effect, act=act, inside=effect.inside or name)


def _run_function(
    run: Interpreter, env: Env, node: ast.AST, function: Function, positional: Sequence[Value], named: Named
) -> Value:
    decorators = [] if function.bare else decorators_of(run, env, node, function)
    if decorators and not any(function.node is each for each in run.calling):
        return through_decorators(run, env, node, function, decorators, positional, named)
    value = _run_body(run, function, positional, named)
    note_kept(run, env, node, function, value)
    return value


def _run_body(run: Interpreter, function: Function, positional: Sequence[Value], named: Named) -> Value:
    from scanify.analysis.values.code.statements import run_body

    inner = Env(function.env.module, function.env, function.node, function.env.owner, call=run.tick())
    code = function.node
    arguments = [function.bound, *positional] if function.bound is not None else list(positional)
    bind_parameters(run, inner, code.args, arguments, named, sure=int(function.bound is not None))
    method = function.bare and function.env.owner is not None and bool(arguments)
    if function.bound is not None or (method and isinstance(arguments[0], Instance)):
        first = [*code.args.posonlyargs, *code.args.args][:1]
        inner.self_name = first[0].arg if first else None
    run.calling.append(code)
    run.executed.add(code)
    try:
        return evaluate(run, inner, code.body) if isinstance(code, ast.Lambda) else run_body(run, inner, code)
    finally:
        run.calling.pop()
