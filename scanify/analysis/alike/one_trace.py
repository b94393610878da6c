"""One trace: lists of layers that differ in their random keys alone, which one call of their class can build stacked.

`[Block(dim, key=k) for k in split(key, n)]` traces the constructor once for each layer, and the program that it makes
grows with their number. In that of `ArrayStacked.init(n, Block)(dim, key=split(key, n))` it stands once. The layers are
the same if the constructor does nothing but compute a layer of its arguments.
"""

import ast
from dataclasses import dataclass, replace

from scanify.analysis.alike.alike import Understood, composition, constructors
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.declared import is_static
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import Class, LayerList, Made, Varies
from scanify.analysis.lists.objects import home_of
from scanify.analysis.lists.varies import Variation, split_count
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters, parent_of
from scanify.analysis.lower.text import dotted, pure
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.stack import OneTrace, Wrap

_OPERATORS = (
    *(f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow") for side in ("", "r")),
    *"__neg__ __index__ __int__ __float__ __abs__ __len__ __getitem__ __lt__ __gt__".split(),
)


@dataclass(frozen=True)
class _Keys:
    """The keys of the layers as text: all of them, their number, and the key of one layer."""

    text: str
    count: str
    one: str


def with_one_trace(project: ProjectFacts, layers: LayerList, understood: Understood) -> LayerList:
    """Return a list whose layers are alike with the call that builds them in its site, if one call can."""
    match layers.sites, layers.made:
        case [Wrap(place=place, built=None)], [made]:
            around = parent_of(made.module, made.node)
            if isinstance(around, ast.ListComp) and made.module.place(around) == place:
                return replace(layers, sites=(Wrap(place, in_one_trace(project, made, around, understood)),))
    return layers


def in_one_trace(project: ProjectFacts, made: Made, around: ast.ListComp, understood: Understood) -> OneTrace | None:
    """Return the call that builds the layers of a comprehension, None if they may not be the same ones then."""
    home, call = home_of(project, made.module, made.node), made.node
    keys = _keys(home, around)
    if keys is None or not isinstance(call, ast.Call) or made.cls is None or "#" in home.module.code(around):
        return None
    number = ast.parse(keys.count, mode="eval").body  # which is evaluated twice
    if not pure(number) or _may_act(project, number):
        return None
    own = [at for at, each in enumerate(made.arguments) if ast.unparse(each.value) == keys.one]
    others = [each for at, each in enumerate(made.arguments) if at not in own]
    if len(own) != 1 or home.meaning(call.func) is None or any(each.name == "**" for each in others):
        return None
    for each in others:  # which would be evaluated once, and not for each layer
        if not _is_plain(each.value) or each.varies is not Varies.SAME or _may_act(project, each.value):
            return None
    if not _takes_key(project, made.cls, made.arguments[own[0]].name, own[0]):
        return None
    if not _only_computes(project, made.cls, understood):
        return None
    texts = [keys.text if at in own else home.module.code(each.value) for at, each in enumerate(made.arguments)]
    arguments = tuple(
        text if each.name is None else f"{each.name}={text}" for each, text in zip(made.arguments, texts, strict=True)
    )
    arrays = not all(_is_no_array(home, each.value) for each in others)
    return OneTrace(keys.count, home.module.code(call.func), arguments, keys_alone=arrays)


def _is_plain(value: ast.expr) -> bool:
    """True if an argument is the same however often it is evaluated."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_plain, value.elts))
    return isinstance(value, ast.Constant) or pure(value)


def _may_act(project: ProjectFacts, value: ast.expr) -> bool:
    """True if evaluating an argument may run code of the project that changes something: an operator, a property."""
    nodes = nodes_in(value)
    computed = any(isinstance(each, ast.BinOp | ast.UnaryOp | ast.Subscript | ast.Call) for each in nodes)
    names = {each.attr for each in nodes if isinstance(each, ast.Attribute)}
    return any(map(project.classes.acts, (*names, *(_OPERATORS if computed else ()))))


def _is_no_array(home: Home, value: ast.expr) -> bool:
    """True if an argument is a literal, or a parameter that is declared to be a number, a text or a configuration."""
    if isinstance(value, ast.BinOp):
        return _is_no_array(home, value.left) and _is_no_array(home, value.right)
    if not isinstance(value, ast.Name) or home.function is None or home.values_of(value.id):
        return isinstance(value, ast.Constant)
    said = next((each.annotation for each in parameters(home.function) if each.arg == value.id), None)
    meaning = home.project.index.resolve(home.module, dotted(said) or "?")
    if isinstance(meaning, External):
        return meaning.qualname in ("builtins.int", "builtins.float", "builtins.bool", "builtins.str")
    return home.project.classes.is_opaque(meaning)


def _keys(home: Home, made: ast.ListComp) -> _Keys | None:
    """The keys of `for k in split(key, n)`, and of `for k in keys` where `keys` is assigned a split."""
    loop = made.generators[0]
    if len(made.generators) != 1 or loop.ifs or loop.is_async or not isinstance(loop.target, ast.Name):
        return None
    walked, count = loop.iter, split_count(home, loop.iter)
    if isinstance(walked, ast.Name) and home.is_local(walked):
        values = home.values_of(walked.id)
        split = len(values) == 1 and values[0][1] is not None and split_count(home, values[0][1]) is not None
        count = f"len({walked.id})" if split else None
    return _Keys(home.module.code(walked), count, loop.target.id) if count is not None else None


def _takes_key(project: ProjectFacts, cls: Class, name: str | None, at: int) -> bool:
    """True if the argument that is a key goes to one parameter of the constructor, by name or position."""
    if isinstance(cls, External):
        return name == "key"
    found = next(constructors(project, cls), None)
    if found is None or found[1].name != "__init__" or project.classes.method(cls, "init") is not None:
        return False
    names = [each.arg for each in parameters(found[1])][1:]
    return name in names if name is not None else at < len(names)


def _only_computes(project: ProjectFacts, cls: Class, understood: Understood) -> bool:
    """True if constructors are understood and keep no array in a static field, where a trace would leave a tracer."""
    for part in composition(project, cls):
        if isinstance(part, Definition):
            if project.classes.oddity(part) is not None or understood(project, part):
                return False
            static = {name for name, each in project.classes.fields(part).items() if is_static(each.default)}
            for home, function in constructors(project, part) if static else ():
                for each in nodes_in(*function.body):
                    stored = (
                        isinstance(each, ast.Assign) and {getattr(one, "attr", "") for one in each.targets} & static
                    )
                    if stored and not _holds_no_array(home, each.value):  # type: ignore[attr-defined]
                        return False
    return True


def _holds_no_array(home: Home, value: ast.expr) -> bool:
    """True if a constructor computes an expression from its parameters by arithmetic and functions of Python alone."""
    calls = [each for each in nodes_in(value) if isinstance(each, ast.Call)]
    if any(home.builtin(each) is None for each in calls) or Variation(home, ()).of(value) is not Varies.SAME:
        return False
    return not any(home.values_of(each.id) for each in nodes_in(value) if isinstance(each, ast.Name))
