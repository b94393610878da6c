"""One trace: lists of layers that differ in their random keys alone, which one call of their class can build stacked.

`[Block(dim, key=k) for k in split(key, n)]` traces the constructor once for each layer, and the program that it makes
grows with their number. In that of `ArrayStacked.init(n, Block)(dim, key=split(key, n))` it stands once. The layers are
the same where the constructor does nothing but compute a layer of its arguments.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.analysis.flow.statements import assignments
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import pure
from scanify.analysis.plan import OneTrace
from scanify.analysis.values import tables
from scanify.analysis.values.calls.attributes import class_env
from scanify.analysis.values.calls.construct import argument_of, construct
from scanify.analysis.values.classes import dotted, library_module
from scanify.analysis.values.code.operators import OPERATORS
from scanify.analysis.values.domain import (
    Array,
    Class,
    Const,
    Function,
    Instance,
    Key,
    Library,
    Number,
    Text,
    Unknown,
    Value,
)
from scanify.analysis.values.heap import Group
from scanify.analysis.values.marks import Mark, Vary
from scanify.analysis.values.objects.held import held
from scanify.analysis.values.objects.likeness import difference, is_static
from scanify.analysis.values.objects.protocols import UNNAMED
from scanify.analysis.values.run.effects import Act, Effect
from scanify.analysis.values.run.interpreter import Interpreter, Stored

_NUMBERS = ("int", "float", "bool", "str")
_HARMLESS = (Act.APPLY,)
_OF_THE_LOOP = (Act.BRANCH, Act.TEXT)  # harmless where what they ask for is the same in all layers


@dataclass(frozen=True)
class _Keys:
    """Where the layers' keys come from: all of them as text, how many there are, and the one of a layer."""

    text: str
    count: str
    one: ast.expr


def in_one_trace(run: Interpreter, stored: Stored, made: ast.expr, layer: Instance) -> OneTrace | None:
    """How layers of a class that a comprehension makes can be built by one call of it; None where they cannot."""
    module = stored.module
    if not isinstance(made, ast.ListComp) or not isinstance(made.elt, ast.Call) or "#" in module.code(made):
        return None
    call = made.elt
    cls = run.index.resolve(module, name) if (name := dotted(call.func)) is not None else None
    keys = _keys(run, stored, made)
    if keys is None or not isinstance(cls, Definition | External) or not _is_of(layer, cls):
        return None
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return None  # what is given is not spelled out, and neither is which of it may be an array
    given = list(_arguments(call))
    own = [position for position, (_, value) in enumerate(given) if _same(value, keys.one)]
    others = [value for position, (_, value) in enumerate(given) if position not in own]
    target = made.generators[0].target
    assert isinstance(target, ast.Name)
    if len(own) != 1 or not all(_is_plain(value) and not _mentions(value, target.id) for value in others):
        return None
    key_name = given[own[0]][0] or own[0]
    unclear = [at for at, (_, value) in enumerate(given) if at not in own and not _is_number(value, stored.function)]
    shared = _shared(run, cls, key_name, [given[at][0] or at for at in unclear])
    if shared is None:
        return None
    texts = [keys.text if at in own else module.code(value) for at, (_, value) in enumerate(given)]
    arguments = tuple(text if name is None else f"{name}={text}" for (name, _), text in zip(given, texts, strict=True))
    return OneTrace(keys.count, module.code(call.func), arguments, keys_alone=not shared)


def _is_of(layer: Instance, cls: Definition | External) -> bool:
    """Whether a layer is of the class that a name of the file stands for: a function may have another of that name."""
    if isinstance(layer.cls, Library) or isinstance(cls, External):
        return getattr(layer.cls, "qualname", None) == getattr(cls, "qualname", "")
    return layer.cls.node is cls.node


def _arguments(call: ast.Call) -> Iterator[tuple[str | None, ast.expr]]:
    yield from ((None, each) for each in call.args)
    yield from ((each.arg, each.value) for each in call.keywords)


def _is_plain(value: ast.expr) -> bool:
    """Whether an argument is the same for each layer, however often it is evaluated."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_plain, value.elts))
    return isinstance(value, ast.Constant) or pure(value)


def _is_number(value: ast.expr, function: ast.AST | None) -> bool:
    """Whether an argument is a number or a text, by what it is or by what the function around says of a parameter."""
    if isinstance(value, ast.BinOp):
        return _is_number(value.left, function) and _is_number(value.right, function)
    if isinstance(value, ast.Name) and isinstance(function, ast.FunctionDef):
        args = function.args
        every = (*args.posonlyargs, *args.args, *args.kwonlyargs)
        said = [each.annotation for each in every if each.arg == value.id]
        rebound = assignments(function.body, value.id)
        return not rebound and any(isinstance(each, ast.Name) and each.id in _NUMBERS for each in said)
    return isinstance(value, ast.Constant)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in nodes_in(node))


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)


# -- the keys --------------------------------------------------------------------------------------------------------


def _keys(run: Interpreter, stored: Stored, made: ast.ListComp) -> _Keys | None:
    """The keys of `for k in split(key, n)`, of `for k in keys`, of `keys[i] ... for i in range(n)`."""
    loop, module = made.generators[0], stored.module
    if len(made.generators) != 1 or loop.ifs or loop.is_async or not isinstance(loop.target, ast.Name):
        return None
    walked = loop.iter
    count = _split_into(run, module, walked)
    if count is not None:
        return _Keys(module.code(walked), module.code(count), loop.target)
    if isinstance(walked, ast.Name):
        known = _assigned(run, stored, walked.id)
        return _Keys(walked.id, f"len({walked.id})", loop.target) if known is not None else None
    if not isinstance(walked, ast.Call) or walked.keywords or len(walked.args) != 1 or not pure(walked.args[0]):
        return None
    if run.index.resolve(module, dotted(walked.func) or "") != External("builtins.range"):
        return None
    found = [each for each in nodes_in(made.elt) if _is_element(each, loop.target.id)]
    names = {each.value.id for each in found if isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name)}
    uses = [each for each in nodes_in(made.elt) if isinstance(each, ast.Name) and each.id == loop.target.id]
    if len(found) != 1 or len(uses) != 1 or len(names) != 1:
        return None
    (name,) = names
    known = _assigned(run, stored, name)
    if known is None or not isinstance(found[0], ast.expr):
        return None
    into, listed = known
    text = module.code(walked.args[0])
    whole = not listed and _same(into, walked.args[0])
    return _Keys(name if whole else f"{name}[:{text}]", text, found[0])


def _is_element(node: ast.AST, index: str) -> bool:
    """`keys[i]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return False
    return isinstance(node.slice, ast.Name) and node.slice.id == index


def _split_into(run: Interpreter, module: Module, node: ast.expr) -> ast.expr | None:
    """Into how many keys a call splits one."""
    name = dotted(node.func) if isinstance(node, ast.Call) else None
    meaning = run.index.resolve(module, name) if name is not None else None
    if not isinstance(node, ast.Call) or not isinstance(meaning, External) or meaning.qualname not in tables.KEYS_MANY:
        return None
    counts = [*node.args[1:2], *(each.value for each in node.keywords if each.arg == "num")]
    known = len(counts) == 1 and not any(isinstance(each, ast.Starred) for each in node.args)
    return counts[0] if known and pure(counts[0]) else None


def _assigned(run: Interpreter, stored: Stored, name: str) -> tuple[ast.expr, bool] | None:
    """Into how many keys the one key is split whose parts a name of the function around always stands for.

    With whether it stands for a list of them: `first, *keys = split(key, n + 1)`.
    """
    function = stored.function
    if not isinstance(function, ast.FunctionDef):
        return None
    args = function.args
    if name in {each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)}:
        return None
    statements = assignments(function.body, name)
    match statements:
        case [ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value)]:
            starred = [each for each in getattr(target, "elts", ()) if isinstance(each, ast.Starred)]
            listed = any(isinstance(each.value, ast.Name) and each.value.id == name for each in starred)
            into = _split_into(run, stored.module, value) if listed or isinstance(target, ast.Name) else None
            return (into, listed) if into is not None else None
    return None


# -- the constructor -------------------------------------------------------------------------------------------------


def _shared(run: Interpreter, cls: Definition | External, key: str | int, others: list[str | int]) -> bool | None:
    """Whether none of other arguments could be an array; None where a layer is more than what is computed of its key.

    An argument is a parameter's name, or its place.
    """
    if isinstance(cls, External):
        return not others if library_module(cls.qualname) and key == "key" else None
    found = run.classes.method(cls, "__init__")
    if found is None or run.classes.oddity(cls) is not None or run.classes.method(cls, "init") is not None:
        return None
    owner, function = found
    plain = [*function.args.posonlyargs, *function.args.args][1:]
    every = [*plain, *function.args.kwonlyargs]
    name = key if isinstance(key, str) else plain[key].arg if key < len(plain) else None
    if name not in {each.arg for each in every}:
        return None
    if others and any(map(run.classes.acts, (*UNNAMED, *OPERATORS))):
        return None  # `float(given)` or `2 * given` may be another number for each layer
    named = {each.arg: argument_of(run, class_env(run, owner), each, function.args) for each in every}
    with run.question(), run.recording() as effects:
        loop = run.new_loop()
        with run.region(loop):
            named[name] = Key((Mark(loop, Vary.KEY, name),))
            made = construct(run, run.module_env(cls.module), cls.node, cls, [], named)
        if run.exhausted:
            return None
    if not _is_of_its_key(run, made, cls, loop) or not all(_is_harmless(each, loop) for each in effects):
        return None
    if _has_static_array(run, made):
        return None
    names = [each if isinstance(each, str) else plain[each].arg if each < len(plain) else "" for each in others]
    return not any(each not in named or _may_be_array(run, named[each]) for each in names)


def _is_of_its_key(run: Interpreter, made: Value, cls: Definition, loop: int) -> bool:
    """Whether layers differ as their keys do, and in nothing that is no array."""
    if not isinstance(made, Instance) or difference(run, Group(made, cls.node, cls.module, (loop,), None)) is not None:
        return False
    inside = held(made)
    if any(isinstance(each, Unknown) and not (each.given or each.computed) for each, _ in inside):
        return False  # what the source does not show may be another thing each time
    return all(mark.how is Vary.KEY for _, marks in inside for mark in marks if mark.loop == loop)


def _has_static_array(run: Interpreter, made: Value) -> bool:
    """Whether a static field holds an array: in a trace it would be a tracer, and no part of a tree's structure."""
    for owner, _ in held(made):
        fields = (
            run.classes.fields(owner.cls) if isinstance(owner, Instance) and isinstance(owner.cls, Definition) else {}
        )
        for name, field in fields.items():
            inner = owner.fields.get(name) if isinstance(owner, Instance) and is_static(field) else None
            if inner is not None and any(isinstance(each, Array) and not each.numpy for each, _ in held(inner)):
                return True
    return False


def _is_harmless(effect: Effect, loop: int) -> bool:
    if effect.act in _HARMLESS:
        return True
    return effect.act in _OF_THE_LOOP and not any(mark.loop == loop for mark in effect.marks)


def _may_be_array(run: Interpreter, value: Value) -> bool:
    if isinstance(value, Instance) and isinstance(value.cls, Definition):
        return run.classes.is_pytree(value.cls) or bool(run.classes.heirs(value.cls))
    return not isinstance(value, Const | Number | Text | Function | Class | Library)
