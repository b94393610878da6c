"""Attributes: fields and methods of instances, and what arrays, lists and libraries have under a name."""

import ast

from scanify.analysis.index.meaning import Definition
from scanify.analysis.values import tables
from scanify.analysis.values.calls.functions.descriptors import (
    ALL,
    MISSING,
    intercepted,
    intercepting,
    of_metaclass,
    read_of_class,
)
from scanify.analysis.values.data import Data
from scanify.analysis.values.domain import (
    Array,
    Class,
    Const,
    Function,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Method,
    Number,
    Partial,
    Text,
    Unknown,
    Value,
    Walked,
    chosen,
    is_none,
    join,
    marked,
    options,
    shape_of,
)
from scanify.analysis.values.heap import Does
from scanify.analysis.values.marks import Vary
from scanify.analysis.values.objects import protocols
from scanify.analysis.values.objects.held import held_marks
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.asked import Asks, ask, guessed
from scanify.analysis.values.run.before import made_once
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import GUESSED, Interpreter
from scanify.analysis.values.size import SAME

_LIST_METHODS = frozenset(
    "append extend insert pop remove clear reverse sort index count copy "
    "add update discard difference_update union intersection difference issubset issuperset isdisjoint".split()
)


_CALLED = (Function, Partial, Class, Library, Instance, Method)  # what a field may hold that is called


def attribute(run: Interpreter, env: Env, node: ast.AST, owner: Value, name: str) -> Value:
    """The value of `owner.name`."""
    if len(found := list(options(owner))) > 1:
        having = [option for option in found if not _lacks(option, name)] or found
        return marked(join(attribute(run, env, node, option, name) for option in having), chosen(owner))
    match owner:
        case Instance():
            return _of_instance(run, env, node, owner, name)
        case Class():
            return _of_class(run, env, node, owner, name)
        case Library():
            return Library(f"{owner.qualname}.{name}")
        case Listed() if name not in _LIST_METHODS and not name.startswith("__"):
            run.use(owner.cell, Does.ATTRIBUTE, node, env, name)
            return Unknown(f"`.{name}` of a list")
        case Listed() | Mapped() if name == "__class__":
            run.use(owner.cell, Does.TYPE, node, env)
            return Unknown("the class of a value")
        case Array() | Key() | Number() | Const() | Text():
            return _of_array(owner, name)
        case Listed() | Mapped() | Walked():
            return Method(owner, name)
        case Partial() if owner.through.startswith("super of"):
            from scanify.analysis.values.calls.functions.supers import super_attribute

            return super_attribute(run, owner, name)
        case Method() if name in tables.GROWERS:
            return Method(owner, name)
        case Method() if name == "at":  # an attribute of what is not known then, as methods have none
            return Array(marks=owner.marks)
        case Function() | Partial() | Method():
            return Unknown(f"`.{name}` of a function", marks=owner.marks)
        case Unknown():
            data = protocols.data_of(run, [owner])
            others = {"at", "items", "keys", "values"} if data is Data.ARGUMENT else tables.PURE_METHODS | tables.VIEWS
            unexpected = name not in tables.MEASURES and name not in others
            if data is Data.OPEN or unexpected or (data is Data.ARGUMENT and run.classes.acts(name)):
                array = name in tables.MEASURES | tables.PURE_METHODS | tables.VIEWS
                run.effect(Act.UNKNOWN, env.code(node), node, env, argument=owner.argument if array else None)
            if name == "at":
                return Array(marks=owner.marks)
            if name in tables.VIEWS and data is not Data.OPEN:
                return replace(owner, argument=owner.part_at(name))
            if (guess := guessed(run, name)) is not None:
                return replace(guess, origin=GUESSED) if isinstance(guess, Instance) else guess
            run.unguessed.setdefault(name, set()).add(env.place(node))
            if name in tables.MEASURES:
                return Number(shape_of(owner) if name in ("shape", "ndim", "size") else owner.marks)
            if name in tables.PURE_METHODS or name in tables.GROWERS or name in tables.TAKERS:
                return Method(owner, name)
            value = Unknown(owner.why, owner.at, owner.marks, given=owner.given, part=True)
            return run.churned.read((owner.why, owner.at), value)
        case _:
            run.effect(Act.UNKNOWN, env.code(node), node, env)
            return Unknown(f"`.{name}` of a value")


def _lacks(value: Value, name: str) -> bool:
    """Whether no value of a kind has an attribute, so that code which asks for it is given another one."""
    return isinstance(value, Text | Number | Const) and name in tables.MUTATORS


def _of_array(owner: Value, name: str) -> Value:
    size = owner.size if isinstance(owner, Array) else None
    if name in ("ndim", "size", "itemsize", "nbytes"):
        return Number(shape_of(owner))
    if name == "shape":
        extent = size.extent if size is not None else None
        return Unknown("`.shape` of an array", marks=shape_of(owner), extent=extent, data=Data.ARRAYS)
    if name in tables.MEASURES:
        return Number(extent=size.dtype if size is not None and name == "dtype" else None)
    if name in ("real", "imag") and isinstance(owner, Array) and "complex" in owner.cast:
        return replace(owner, cast="")
    if name in ("T", "mT") and isinstance(owner, Array) and size is not None:
        return replace(owner, size=size.turned("", None) if name == "T" else size.moved(None, SAME, "", None))
    if name in tables.VIEWS or name == "at":
        return owner
    if name == "__class__":
        return Unknown("the class of a value")
    return Method(owner, name)


def _of_instance(run: Interpreter, env: Env, node: ast.AST, owner: Instance, name: str) -> Value:
    if ALL in (asked := intercepting(run, owner)):
        intercepted(run, env, node, owner, ALL)
    if run.classes.is_computed(name) and not isinstance(owner.cls, Library):
        run.effect(Act.UNKNOWN, f"{owner.name}.{name}", node, env)
    if name in owner.fields:
        if name == "layers":
            run.use_of(owner, Does.ATTRIBUTE, node, env, name)
        differs = any(mark.how > Vary.CARRY_SHAPE for mark in owner.marks)
        held = run.churned.read((id(owner.fields), name), owner.fields[name])
        if isinstance(held, Array) and held.numpy and ask(run, Asks.TRACED, id(owner.fields)):
            held = replace(held, numpy=False)
        if isinstance(held, Unknown) and held.given and not held.marks and _is_whole_number(run, owner, name):
            held = Number()
        if not run.building and any(isinstance(option, Unknown | Key) for option in options(held)):
            held = _declared(run, owner, name, held)
        followed = run.building and run.is_fresh(owner.born, run.building)
        called = not followed and any(isinstance(option, _CALLED) for option in options(held))
        if called and run.classes.is_replaced(owner.cls, name):
            held = join([held, Unknown(f"`{name}` is stored elsewhere")])
        return marked(held, owner.marks) if differs else held
    if isinstance(owner.cls, Library):
        if name not in ("is_stateful", "__call__"):
            run.use_of(owner, Does.ATTRIBUTE, node, env, name)
        return _of_library_instance(owner, name)
    if name == "__class__":
        return Class(owner.cls)
    value = of_definition(run, owner.cls, name, owner)
    if value is not None:
        if run.classes.oddity(owner.cls) is not None:  # which may put something else in its place
            run.effect(Act.UNKNOWN, f"{owner.name}.{name}", node, env)
        value = read_of_class(run, env, node, value, owner)
        heirs = [] if owner.exact else _of_heirs(run, owner, name, value)
        # Of objects that differ each may have the method of another class.
        unlike = tuple(replace(mark, how=Vary.OTHER) for mark in owner.marks if mark.how >= Vary.CHOICE)
        return marked(join([value, *heirs], len(heirs) + len(list(options(value)))), unlike) if heirs else value
    declared = run.classes.fields(owner.cls).get(name)
    if declared is not None:
        from scanify.analysis.values.code.annotations import annotated

        home = class_env(run, declared.owner)
        what = f"the field `{name}` of `{owner.name}`"
        value = annotated(run, home, declared.statement.annotation, what)
        value = value or Unknown(f"{what} is not shown", declared.owner.module.place(declared.statement))
        owner.fields[name] = value
        return value
    if MISSING in asked and not name.startswith("__"):
        return intercepted(run, env, node, owner, MISSING)
    place = env.place(node)
    run.effect(Act.UNKNOWN, env.code(node), node, env)
    if not run.classes.known_bases(owner.cls):
        return Unknown(f"`.{name}` of a `{owner.name}` may be inherited from another package", place, held_marks(owner))
    return Unknown(f"`{owner.name}` is not shown to have `{name}`", place, held_marks(owner))


def _declared(run: Interpreter, owner: Instance, name: str, held: Value) -> Value:
    """What a field holds by its annotation, where a constructor does not show what it is given for it."""
    field = run.classes.fields(owner.cls).get(name) if isinstance(owner.cls, Definition) else None
    if field is None:
        return held
    from scanify.analysis.values.code.annotations import annotated

    what = f"the field `{name}` of `{owner.name}`"
    said = annotated(run, class_env(run, field.owner), field.statement.annotation, what)
    if said is None:  # a key by its name alone is none where the field is declared as anything
        hidden = Unknown(what, field.owner.module.place(field.statement), held.marks)
        return join(hidden if _is_named_key(option) else option for option in options(held))
    if not all(isinstance(option, Array | Number | Text | Key | Const | Instance) for option in options(said)):
        return held
    there = join(option for option in options(said) if not is_none(option))
    return join(marked(there, option.marks) if isinstance(option, Unknown) else option for option in options(held))


def _is_named_key(value: Value) -> bool:
    return isinstance(value, Key) and not value.split


def _is_whole_number(run: Interpreter, owner: Instance, name: str) -> bool:
    """Whether a field is declared as a whole number."""
    declared = run.classes.fields(owner.cls).get(name) if isinstance(owner.cls, Definition) else None
    annotation = declared.statement.annotation if declared is not None else None
    return isinstance(annotation, ast.Name) and annotation.id in ("int", "bool")


def _of_heirs(run: Interpreter, owner: Instance, name: str, value: Value) -> list[Value]:
    """The methods that classes of the project which inherit from the shown one have in its place."""
    if not isinstance(owner.cls, Definition) or not all(isinstance(option, Function) for option in options(value)):
        return []
    found: list[Value] = []
    for heir in run.classes.heirs(owner.cls):
        found += [Function(own, class_env(run, heir), owner) for own in run.classes.definitions(heir, name)]
    return found


def _of_library_instance(owner: Instance, name: str) -> Value:
    last = owner.name.rpartition(".")[2]
    if name == "layers" and "layers" in owner.fields:
        return owner.fields["layers"]
    if name in ("weight", "bias", "scale", "weight_hh", "weight_ih"):
        return Array(marks=held_marks(owner), born=owner.born)
    if last in ("State", "StateIndex"):
        return Method(owner, name)
    return Method(owner, name) if name.islower() else Unknown(f"`.{name}` of a `{owner.name}`", marks=held_marks(owner))


def of_definition(run: Interpreter, cls: Definition, name: str, bound: Instance | None) -> Value | None:
    """What the class of an instance has under a name: a method that is bound to it, or a constant."""
    found = run.classes.method(cls, name)
    if found is not None:
        owner, function = found
        env = class_env(run, owner)
        decorators = {ast.unparse(each).rpartition(".")[2] for each in function.decorator_list}
        if "staticmethod" in decorators:
            return Function(function, env)
        if "classmethod" in decorators:
            return Function(function, env, Class(cls))
        # Which of several definitions in branches counts is not asked.
        defined = [each for each in run.classes.definitions(owner, name) if each is not function]
        made_of_it = join(Function(each, env, bound) for each in (function, *defined))
        if run.classes.is_patched(name):
            return join([made_of_it, Unknown(f"`{owner.name}.{name}` is replaced", owner.module.place(function))])
        return made_of_it
    constant = run.classes.constant(cls, name)
    if constant is not None:
        owner, value = constant
        if run.classes.is_patched(name):
            return Unknown(
                f"`{owner.name}.{name}` changes", owner.module.place(value), run.ambient(f"{owner.name}.{name}")
            )
        made = made_once(run, class_env(run, owner), value)
        run.changes.reach(made)
        is_method = isinstance(made, Function) and bound is not None and made.bound is None
        return Function(made.node, made.env, bound) if isinstance(made, Function) and is_method else made
    return None


def class_env(run: Interpreter, owner: Definition) -> Env:
    """The names around the methods of a class."""
    around = run.inner_classes[owner.node][1] if owner.node in run.inner_classes else run.module_env(owner.module)
    return Env(owner.module, around, owner=owner)


def _of_class(run: Interpreter, env: Env, node: ast.AST, owner: Class, name: str) -> Value:
    if name == "__name__":
        return Text()
    if name == "__new__" and run.classes.method(owner.definition, "__new__") is None:
        return Library("builtins.object.__new__")
    if (made := of_metaclass(run, env, node, owner, name)) is not None:
        return made
    value = of_definition(run, owner.definition, name, None)
    if value is None:
        value = Unknown(f"`{owner.definition.name}.{name}` is not shown")
        return run.churned.read((owner.definition.node, name), value)
    if isinstance(value, Function) and isinstance(value.bound, Class):
        return Function(value.node, value.env, owner)
    return read_of_class(run, env, node, value, owner)
