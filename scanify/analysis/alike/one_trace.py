"""Lists of layers that differ only in their random keys, which one call of their class can build stacked.

`[Block(dim, key=k) for k in split(key, n)]` traces the constructor once for each layer, so that the program grows with
their number. `ArrayStacked.init(n, Block)(dim, key=split(key, n))` traces it once. The layers are the same if the
constructor does nothing but compute a layer from its arguments.
"""

import ast
from dataclasses import replace

from scanify.analysis.alike.alike import Understood
from scanify.analysis.alike.parts import composition, constructors
from scanify.analysis.index.meaning import External
from scanify.analysis.lists.declared import is_static
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import Class, LayerList, Made, Varies
from scanify.analysis.lists.objects import home_of, only_value
from scanify.analysis.lists.varies import split_count
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters, parent_of
from scanify.analysis.lower.text import dotted, pure
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.stack import OneTrace, Wrap

_NUMBERS = frozenset(f"builtins.{name}" for name in ("int", "float", "bool", "str"))


def with_one_trace(project: ProjectFacts, layers: LayerList, understood: Understood) -> LayerList:
    """Add the call that builds all layers to the site of a list of equal layers, if one call can build them."""
    match layers.sites, layers.made:
        case [Wrap(place=place, built=None)], [made]:
            around = parent_of(made.module, made.node)
            if isinstance(around, ast.ListComp) and made.module.place(around) == place:
                return replace(layers, sites=(Wrap(place, _in_one_trace(project, made, around, understood)),))
    return layers


def _in_one_trace(project: ProjectFacts, made: Made, around: ast.ListComp, understood: Understood) -> OneTrace | None:
    """Return the call that builds the layers of a comprehension; None if its layers might differ from those."""
    home, call, loop = home_of(project, made.module, made.node), made.node, around.generators[0]
    count = _number_of_keys(home, around)
    if count is None or not isinstance(call, ast.Call) or made.cls is None or "#" in home.module.code(around):
        return None
    number = ast.parse(count, mode="eval").body  # evaluated twice in the result
    if not _is_repeatable(project, number) or home.meaning(call.func) is None:
        return None
    own = [at for at, each in enumerate(made.arguments) if ast.unparse(each.value) == ast.unparse(loop.target)]
    if len(own) != 1 or not _takes_key(project, made.cls, made.arguments[own[0]].name, own[0]):
        return None
    others = [each for at, each in enumerate(made.arguments) if at not in own]
    for each in others:  # evaluated once in the result, not for each layer
        if each.name == "**" or each.varies is not Varies.SAME or not _is_repeatable(project, each.value):
            return None
    if not all(_only_computes(project, part, understood) for part in composition(project, made.cls)):
        return None
    keys = made.arguments[own[0]]
    texts = [home.module.code(loop.iter if each is keys else each.value) for each in made.arguments]
    arguments = tuple(
        f"{each.name}={text}" if each.name else text for each, text in zip(made.arguments, texts, strict=True)
    )
    arrays = not all(_is_no_array(home, each.value) for each in others)
    return OneTrace(count, home.module.code(call.func), arguments, keys_alone=arrays)


def _is_repeatable(project: ProjectFacts, value: ast.expr) -> bool:
    """True if an expression has the same value however often it is evaluated, and runs no code of the project."""
    match value:
        case ast.Constant() | ast.Name() | ast.Call(func=ast.Name(id="len"), args=[ast.Name()]):
            return True
        case ast.Attribute(value=held, attr=name):
            return not project.classes.acts(name) and _is_repeatable(project, held)
        case _:
            return False


def _is_no_array(home: Home, value: ast.expr) -> bool:
    """True if an argument is a literal, or a parameter declared as a number, a string or a configuration."""
    if not isinstance(value, ast.Name) or home.function is None or home.values_of(value.id):
        return isinstance(value, ast.Constant)
    said = next((each.annotation for each in parameters(home.function) if each.arg == value.id), None)
    meaning = home.project.index.resolve(home.module, dotted(said) or "?")
    return getattr(meaning, "qualname", "") in _NUMBERS or home.project.classes.is_opaque(meaning)


def _number_of_keys(home: Home, made: ast.ListComp) -> str | None:
    """Return the number of keys in `for k in split(key, n)`, or in `for k in keys` if `keys` is assigned a split."""
    loop = made.generators[0]
    if len(made.generators) != 1 or loop.ifs or loop.is_async or not isinstance(loop.target, ast.Name):
        return None
    match loop.iter:
        case ast.Name(id=name) as keys if home.is_local(keys):
            stored = only_value(home, keys)
            return f"len({name})" if stored is not None and split_count(*stored) is not None else None
        case walked:
            return split_count(home, walked)


def _takes_key(project: ProjectFacts, cls: Class, name: str | None, at: int) -> bool:
    """True if one parameter of the constructor takes the key, by name or position."""
    if isinstance(cls, External):
        return name == "key"
    found = next(constructors(project, cls), None)
    if found is None or found[1].name != "__init__" or project.classes.method(cls, "init") is not None:
        return False
    names = [each.arg for each in parameters(found[1])][1:]
    return name in names if name is not None else at < len(names)


def _only_computes(project: ProjectFacts, cls: Class, understood: Understood) -> bool:
    """True if constructors are understood and keep no array in a static field, where a trace would leave a tracer."""
    if isinstance(cls, External):
        return True
    static = {name for name, each in project.classes.fields(cls).items() if is_static(each.default)}
    for home, function in constructors(project, cls) if static else ():
        for each in (each for each in nodes_in(*function.body) if isinstance(each, ast.Assign)):
            own = [part for part in nodes_in(each.value) if isinstance(part, ast.Name) and home.values_of(part.id)]
            if static & {getattr(target, "attr", "") for target in each.targets} and (own or not pure(each.value)):
                return False
    return project.classes.oddity(cls) is None and not understood(project, cls)
