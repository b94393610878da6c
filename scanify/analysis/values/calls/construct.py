"""Objects of the project's classes: what a constructor makes of its arguments, and what any instance of a class has."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from scanify.analysis.index.meaning import Definition
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values import tables
from scanify.analysis.values.calls.attributes import class_env
from scanify.analysis.values.calls.functions.again import Begun
from scanify.analysis.values.calls.functions.descriptors import of_metaclass
from scanify.analysis.values.classes import Field, dotted
from scanify.analysis.values.code.annotations import annotated, parameter, unquoted
from scanify.analysis.values.data import Data
from scanify.analysis.values.domain import (
    Array,
    Class,
    Function,
    Instance,
    Library,
    Listed,
    Number,
    Text,
    Unknown,
    Value,
    join,
    options,
)
from scanify.analysis.values.heap import Group
from scanify.analysis.values.marks import Vary, raised
from scanify.analysis.values.objects.held import held_marks
from scanify.analysis.values.objects.identity import identity, is_coarse, kind_of, mode, with_loops
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter, Made, Stored

Named = Mapping[str, Value]


def construct(
    run: Interpreter,
    env: Env,
    node: ast.AST,
    cls: Definition,
    positional: Sequence[Value],
    named: Named,
    *,
    exact: bool = True,
) -> Value:
    """The object that `cls(...)` makes."""
    from scanify.analysis.values.calls.calls import call_function

    if any(each is cls.node for each in run.calling):
        run.cut = min(run.cut, run.calling.index(cls.node))
        return Unknown(f"`{cls.name}` holds objects of its own class", born=run.tick())
    if _is_enum(run, cls):
        if (missing := run.classes.method(cls, "_missing_")) is not None:
            function = Function(missing[1], class_env(run, missing[0]), Class(cls))
            call_function(run, env, node, function, positional, {})
        return Unknown(f"a member of `{cls.name}`", marks=raised(held_marks(*positional, *named.values()), Vary.CHOICE))
    key = _key(run, cls, positional, named, exact)
    known = run.memo.get(key) if key is not None else None
    arguments = (*positional, *named.values())
    same = known.again(run, arguments) if known is not None else None
    if same is not None:
        made, effects = same
        assert isinstance(made, Instance)
        instance = replace(made, node=node)
    else:
        begun = Begun(run)
        with run.recording() as recorded:
            instance = _constructed(run, env, node, cls, positional, named, exact)
        effects = tuple(recorded)
        begun.ended(run, key, cls.node, arguments, instance, effects)
    run.effects.extend(effects)
    if exact and node is not cls.node:
        run.constructed.setdefault(cls.node, []).append(Made(instance, env.owner, env.function))
    return instance


def _key(run: Interpreter, cls: Definition, positional: Sequence[Value], named: Named, exact: bool) -> object | None:
    """What tells an object from others of its class; None where its constructor has to be run anew.

    A constructor that the class does not write itself notes which lists its callers give: it is run each time.
    """
    if run.classes.method(cls, "__init__") is None or run.shallow:
        return None
    coarse = is_coarse(run)
    parts = [kind_of(value) if coarse else identity(value) for value in (*positional, *named.values())]
    if None in parts:
        return None
    return with_loops(run, (cls.node, exact, mode(run), run.replacing, *parts, tuple(named)), cls.node)


def _constructed(
    run: Interpreter, env: Env, node: ast.AST, cls: Definition, positional: Sequence[Value], named: Named, exact: bool
) -> Instance:
    from scanify.analysis.values.calls.calls import call_function, unknown_call
    from scanify.analysis.values.calls.library import library_fields

    instance = Instance(cls, exact=exact, node=node, born=run.tick())
    outermost = not run.building
    run.building = run.building or instance.born
    oddity = run.classes.oddity(cls)
    if oddity is not None:  # which may look at the arguments before the class does, and give another object for some
        instance.origin = oddity
        of_metaclass(run, env, node, Class(cls), "__call__")
        instance.marks = held_marks(*positional, *named.values())
    run.calling.append(cls.node)
    try:
        if (maker := run.classes.method(cls, "__new__")) is not None:  # what it gives is another matter: see `oddity`
            call_function(
                run, env, node, Function(maker[1], class_env(run, maker[0])), [Class(cls), *positional], named
            )
        found = run.classes.method(cls, "__init__")
        if found is not None:
            owner, function = found
            call_function(run, env, node, Function(function, class_env(run, owner), instance), positional, named)
            _class_defaults(run, instance)
        elif (library := run.classes.library_base(cls, "__init__")) is not None and not run.classes.fields(cls):
            instance.fields.update(library_fields(library, positional, named))
            instance.marks = () if run.classes.is_module(cls) else held_marks(*positional, *named.values())
        elif run.classes.fields(cls) and (run.classes.is_module(cls) or _is_dataclass(run, cls)):
            _dataclass_init(run, env, node, instance, positional, named)
        else:
            if not run.classes.known_bases(cls):
                unknown_call(run, env, node, Unknown(cls.name), positional, named)
            instance.marks = held_marks(*positional, *named.values())  # it may keep what it is given
        for name in ("__post_init__", "__check_init__", "__del__"):
            if name == "__post_init__" and found is not None:
                continue
            later = run.classes.method(cls, name)
            if later is not None:
                call_function(run, env, node, Function(later[1], class_env(run, later[0]), instance), [], {})
    finally:
        run.calling.pop()
        if outermost:
            run.building = 0
    for value in instance.fields.values():
        for option in options(value):
            if isinstance(option, Listed) and option.cell.built is None:
                option.cell.built = tuple(option.cell.groups)
    instance.whole = run.classes.known_bases(cls) and not run.shallow
    if not instance.whole and not instance.origin:
        instance.origin = f"`{cls.name}` inherits from a class that the source does not show"
    return instance


def _is_enum(run: Interpreter, cls: Definition) -> bool:
    return any(getattr(base, "qualname", "").startswith("enum.") for base in run.classes.bases(cls))


def _is_dataclass(run: Interpreter, cls: Definition) -> bool:
    for owner in run.classes.lineage(cls):
        node = owner.node
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
            inner = decorator.func if isinstance(decorator, ast.Call) else decorator
            if (dotted(inner) or "").rpartition(".")[2] in ("dataclass", "register_pytree_dataclass"):
                return True
        bases = run.classes.bases(owner)
        if any(getattr(base, "qualname", "") in ("typing.NamedTuple", "flax.struct.PyTreeNode") for base in bases):
            return True
    return False


def _class_defaults(run: Interpreter, instance: Instance) -> None:
    """Fields that a constructor leaves at the default of the class."""
    assert not isinstance(instance.cls, Library)
    for name, field in run.classes.fields(instance.cls).items():
        if name not in instance.fields and field.default is not None:
            instance.fields[name] = _default(run, field)


def _dataclass_init(
    run: Interpreter, env: Env, node: ast.AST, instance: Instance, positional: Sequence[Value], named: Named
) -> None:
    """The constructor that a dataclass is given: a parameter for each field."""
    assert not isinstance(instance.cls, Library)
    fields = run.classes.fields(instance.cls)
    rest = list(positional) if "*" not in named else []
    unclear = "*" in named or "**" in named
    for name, field in fields.items():
        given = _options(field)
        if _says(given.get("init"), False):
            if field.default is not None:
                instance.fields[name] = _default(run, field)
            continue
        if name in named:
            value = named[name]
            _note_given(run, env, node, instance.cls, name, value)
        elif rest and not _says(given.get("kw_only"), True):
            value = rest.pop(0)
            _note_given(run, env, node, instance.cls, len(positional) - len(rest) - 1, value, name)
        elif field.default is not None and not unclear:
            value = _default(run, field)
        else:
            home = class_env(run, field.owner)
            value = annotated(run, home, field.statement.annotation, f"the field `{name}`") or Unknown(
                f"`{name}` comes from the caller", field.owner.module.place(field.statement), given=True
            )
        if "converter" in given:
            value = _converted(run, env, node, field, given["converter"], value)
        instance.fields[name] = value


def _note_given(
    run: Interpreter, env: Env, node: ast.AST, cls: Definition, which: str | int, value: Value, name: str = ""
) -> None:
    """Note the argument of a call that gives a dataclass a list for one of its fields: there it can be stacked."""
    if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
        return
    by_name = [keyword.value for keyword in node.keywords if keyword.arg == which]
    by_name += node.args[which : which + 1] if isinstance(which, int) else []
    argument = by_name[0] if by_name else None
    for option in options(value) if argument is not None else ():
        if isinstance(option, Listed) and argument is not None:
            statement = ast.copy_location(ast.Expr(node), node)
            attribute = name or str(which)
            stored = Stored(
                statement, argument, argument, env.module, env.function, cls, attribute, run.tick(), building=False
            )
            run.stores.setdefault(option.cell.node, {}).setdefault(argument, stored)


def _options(field: Field) -> dict[str, ast.expr]:
    """The arguments of `field(...)`."""
    if not isinstance(field.default, ast.Call) or not (dotted(field.default.func) or "").endswith("field"):
        return {}
    return {keyword.arg: keyword.value for keyword in field.default.keywords if keyword.arg is not None}


def _says(node: ast.expr | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _default(run: Interpreter, field: Field) -> Value:
    from scanify.analysis.values.calls.calls import call
    from scanify.analysis.values.code.expressions import evaluate

    env = class_env(run, field.owner)
    given = _options(field)
    assert field.default is not None
    if "default_factory" in given:
        factory = evaluate(run, env, given["default_factory"])
        return call(run, env, given["default_factory"], factory, [], {})
    if "default" in given:
        return evaluate(run, env, given["default"])
    if given or (isinstance(field.default, ast.Call) and (dotted(field.default.func) or "").endswith("field")):
        home = annotated(run, env, field.statement.annotation, f"the field `{field.name}`")
        place = field.owner.module.place(field.statement)
        return home or Unknown(f"`{field.name}` comes from the caller", place, given=True)
    return evaluate(run, env, field.default)


def _converted(run: Interpreter, env: Env, node: ast.AST, field: Field, converter: ast.expr, value: Value) -> Value:
    from scanify.analysis.values.calls.calls import call
    from scanify.analysis.values.code.expressions import evaluate

    home = class_env(run, field.owner)
    return call(run, home, converter, evaluate(run, home, converter), [value], {})


# -- any instance ----------------------------------------------------------------------------------------------------


def any_instance(run: Interpreter, cls: Definition, what: str) -> Value:
    """An instance of a class, or of one that inherits from it, of which only the class is known.

    Its constructor is run with what its annotations say of the arguments.
    """
    if cls.node not in run.models:
        run.models[cls.node] = Unknown(f"`{cls.name}` holds objects of its own class")
        run.models[cls.node] = _model(run, cls)
    model = run.models[cls.node]
    if isinstance(model, Instance):
        return Instance(model.cls, model.fields, False, model.whole, (), what, model.node)
    return model


def _model(run: Interpreter, cls: Definition) -> Value:
    if _is_enum(run, cls) or not isinstance(cls.node, ast.ClassDef):
        return Unknown(f"a member of `{cls.name}`")
    env = run.module_env(cls.module)
    with run.question(), run.recording(), run.elsewhere():
        found = run.classes.method(cls, "__init__")
        named: dict[str, Value] = {}
        if found is not None:
            owner, function = found
            arguments = function.args
            home = class_env(run, owner)
            parameters = [*arguments.posonlyargs, *arguments.args][1:]
            named = {each.arg: symbolic(run, home, each, arguments) for each in (*parameters, *arguments.kwonlyargs)}
        else:
            for name, field in run.classes.fields(cls).items():
                home = class_env(run, field.owner)
                value = annotated(run, home, field.statement.annotation, f"the field `{name}`")
                place = field.owner.module.place(field.statement)
                named[name] = value or Unknown(f"`{name}` comes from the caller", place, given=True)
                if _says(_options(field).get("init"), False):
                    del named[name]
        return construct(run, env, cls.node, cls, [], named)


def symbolic(run: Interpreter, env: Env, argument: ast.arg, arguments: ast.arguments) -> Value:
    """A parameter that any caller may give: what its annotation says, or else the kind of its default."""
    value = parameter(run, env, argument.arg, argument.annotation)
    default = _default_of(argument, arguments)
    if isinstance(default, ast.Name | ast.Attribute) and isinstance(value, Unknown | Instance):
        return join([value, *_classes(run, env, default)])
    if isinstance(default, ast.Tuple | ast.List) and isinstance(value, Unknown | Listed):
        return _usually(run, env, argument, default, value)
    if isinstance(value, Array):
        return replace(value, born=run.tick())  # an object that is there when the function is called
    if not isinstance(value, Unknown):
        return value
    if isinstance(default, ast.Constant) and isinstance(default.value, int | float | str) and default.value is not None:
        return Text() if isinstance(default.value, str) else Number()
    return value


def argument_of(run: Interpreter, env: Env, node: ast.arg, args: ast.arguments) -> Value:
    """An argument of a function that any caller may call: data, where no annotation says otherwise."""
    value = symbolic(run, env, node, args)
    names = (
        getattr(each, "id", getattr(each, "attr", ""))
        for each in nodes_in(unquoted(node.annotation or ast.Constant(None)))
    )
    if not {name for name in names if name} <= tables.DATA_TYPES:
        return value
    for option in options(value):
        if isinstance(option, Listed) and not option.cell.groups:
            option.cell.data = Data.ARGUMENT
    known = [
        replace(option, data=Data.ARGUMENT, argument=node) if isinstance(option, Unknown) else option
        for option in options(value)
    ]
    return join(known) if any(isinstance(option, Unknown) for option in known) else value


def _usually(
    run: Interpreter, env: Env, argument: ast.arg, default: ast.Tuple | ast.List, value: Unknown | Listed
) -> Value:
    """A list of numbers that a caller may give, and what it holds where none is given: `channels=(32, 64, 128)`."""
    numbers = tuple(each.value for each in default.elts if isinstance(each, ast.Constant))
    plain = len(numbers) == len(default.elts) > 0
    if not plain or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in numbers):
        return value
    if isinstance(value, Unknown):
        from scanify.analysis.values.code.annotations import given_list

        value = given_list(run, env, default, [], isinstance(default, ast.Tuple), f"the parameter `{argument.arg}`")
        value.cell.groups.append(Group(Number(), default, env.module, (), None))
    for group in value.cell.groups:
        run.usual[group.node] = numbers if run.usual.get(group.node, numbers) == numbers else ()
    return value


def _classes(run: Interpreter, env: Env, default: ast.expr) -> Iterator[Value]:
    """The class that a parameter stands for where a caller gives none: `block=Block`, `norm_layer=eqx.nn.LayerNorm`."""
    from scanify.analysis.values.code.expressions import evaluate

    with run.recording(), run.elsewhere():
        value = evaluate(run, env, default)
    if isinstance(value, Class) or (isinstance(value, Library) and value.qualname.rpartition(".")[2][:1].isupper()):
        yield value


def _default_of(argument: ast.arg, arguments: ast.arguments) -> ast.expr | None:
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = dict(zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True))
    pairs.update(
        {each: value for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value}
    )
    return pairs.get(argument)
