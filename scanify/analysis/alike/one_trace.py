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
from scanify.analysis.lower.nodes import mentions, nodes_in
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
    """The keys of the layers: all of them as text, their number as text, and the key of one layer."""

    text: str
    count: str
    one: ast.expr


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
    if not isinstance(call, ast.Call) or made.cls is None or "#" in home.module.code(around):
        return None
    if home.meaning(call.func) is None:
        return None
    keys = _keys(home, around)
    own = [at for at, each in enumerate(made.arguments) if keys is not None and _same(each.value, keys.one)]
    if keys is None or len(own) != 1 or any(each.name == "**" for each in made.arguments):
        return None
    others = [at for at in range(len(made.arguments)) if at not in own]
    if not all(_is_plain(made.arguments[at].value) and made.arguments[at].varies is Varies.SAME for at in others):
        return None
    if any(_may_act(project, made.arguments[at].value) for at in others):
        return None  # it would run once, and not for each layer
    unclear = [at for at in others if not _is_number(home, made.arguments[at].value)]
    names = _parameter_names(project, made.cls, [(made.arguments[at].name, at) for at in (*own, *unclear)])
    if names is None or not _only_computes(project, made.cls, understood):
        return None
    key, *rest = names
    if isinstance(made.cls, External) and key != "key":
        return None
    texts = [keys.text if at in own else home.module.code(each.value) for at, each in enumerate(made.arguments)]
    arguments = tuple(
        text if each.name is None else f"{each.name}={text}" for each, text in zip(made.arguments, texts, strict=True)
    )
    arrays = any(_may_be_array(project, made.cls, name) for name in rest)
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


def _is_number(home: Home, value: ast.expr) -> bool:
    """True if an argument is a literal number or text, or a parameter that is declared as one."""
    if isinstance(value, ast.BinOp):
        return _is_number(home, value.left) and _is_number(home, value.right)
    if isinstance(value, ast.Name) and home.function is not None and not home.values_of(value.id):
        said = [each.annotation for each in parameters(home.function) if each.arg == value.id]
        return any(_is_plain_type(home, each) for each in said)
    return isinstance(value, ast.Constant)


def _is_plain_type(home: Home, annotation: ast.expr | None) -> bool:
    meaning = home.project.index.resolve(home.module, dotted(annotation) or "?") if annotation is not None else None
    return isinstance(meaning, External) and meaning.qualname in (
        "builtins.int", "builtins.float", "builtins.bool", "builtins.str",
    )  # fmt: skip


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)


# -- the keys --------------------------------------------------------------------------------------------------------


def _keys(home: Home, made: ast.ListComp) -> _Keys | None:
    """The keys of `for k in split(key, n)`, of `for k in keys`, of `keys[i] ... for i in range(n)`."""
    loop = made.generators[0]
    if len(made.generators) != 1 or loop.ifs or loop.is_async or not isinstance(loop.target, ast.Name):
        return None
    walked = loop.iter
    count = split_count(home, walked)
    if count is not None:
        return _Keys(home.module.code(walked), count, loop.target)
    if isinstance(walked, ast.Name):
        return _Keys(walked.id, f"len({walked.id})", loop.target) if _split_once(home, walked) is not None else None
    if home.builtin(walked) != "range" or not isinstance(walked, ast.Call) or len(walked.args) != 1:
        return None
    number = walked.args[0]
    uses = mentions(loop.target.id, made.elt)
    taken = parent_of(home.module, uses[0]) if len(uses) == 1 else None
    match taken:
        case ast.Subscript(value=ast.Name() as keys, slice=ast.Name()) if pure(number):
            known = _split_once(home, keys)
            if known is None:
                return None
            into, listed = known
            text = home.module.code(number)
            whole = not listed and into == text
            return _Keys(keys.id if whole else f"{keys.id}[:{text}]", text, taken)
    return None


def _split_once(home: Home, node: ast.Name) -> tuple[str, bool] | None:
    """The number of keys that a key is split into for a local name, as text, and whether the name is a list of them:
    `first, *keys = split(key, n + 1)`."""
    values = home.values_of(node.id) if home.is_local(node) else []
    match values:
        case [(ast.Assign(targets=[ast.Name()], value=value), _)]:
            listed = False
        case [(ast.Assign(targets=[ast.Tuple(elts=parts)], value=value), _)]:
            listed = any(isinstance(each, ast.Starred) and _same(each.value, ast.Name(node.id)) for each in parts)
            if not listed:
                return None
        case _:
            return None
    count = split_count(home, value)
    return (count, listed) if count is not None else None


# -- the constructor -------------------------------------------------------------------------------------------------


def _parameter_names(project: ProjectFacts, cls: Class, given: list[tuple[str | None, int]]) -> list[str] | None:
    """The names of the parameters that get some arguments, of which each is given by name or position."""
    if isinstance(cls, External):
        return [name or "" for name, _ in given]
    found = next(constructors(project, cls), None)
    if found is None or found[1].name != "__init__" or project.classes.method(cls, "init") is not None:
        return None
    names = [each.arg for each in parameters(found[1])][1:]
    chosen = [name or (names[at] if at < len(names) else "") for name, at in given]
    return chosen if all(each in names for each in chosen) else None


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


def _is_plain_parameter(home: Home, name: str) -> bool:
    """True if a parameter is declared to be a number, a text, or a configuration that jax sees as one leaf."""
    said = (
        next((each.annotation for each in parameters(home.function) if each.arg == name), None)
        if home.function
        else None
    )
    return _is_plain_type(home, said) or _is_opaque(home.project, home, said)


def _may_be_array(project: ProjectFacts, cls: Class, name: str) -> bool:
    """True if nothing says that a parameter of a constructor is no array."""
    found = next(constructors(project, cls), None)
    return found is None or not _is_plain_parameter(found[0], name)


def _is_opaque(project: ProjectFacts, home: Home, annotation: ast.expr | None) -> bool:
    """True if an annotation names a class of the project whose objects are leaves to jax: a plain configuration."""
    meaning = project.index.resolve(home.module, dotted(annotation) or "?") if annotation is not None else None
    return isinstance(meaning, Definition) and project.classes.is_opaque(meaning)
