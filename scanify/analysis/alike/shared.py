"""Objects in several layers: a layer that is in the list twice, or a module or array that layers share.

A stack has a separate array for each layer, as the pytree of the list has, which is hardly ever intended.
"""

import ast
from collections.abc import Iterator

from scanify.analysis.alike.parts import composition, constructors
from scanify.analysis.classes.nnx import VARIABLES
from scanify.analysis.index.meaning import Definition
from scanify.analysis.lists.declared import is_static
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import CALLED, LayerList, Reason, Varies, not_shown
from scanify.analysis.lists.objects import ARRAY, class_of, contents_of, home_of, only_value, walked_by
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.obligation import Obligation
from scanify.analysis.project_facts import ProjectFacts

# Functions that return their argument, or an array that shares its memory.
_SAME_OBJECT = frozenset({"jax.numpy.asarray", "numpy.asarray", "jax.device_put", "jax.lax.stop_gradient", "copy.copy"})
_DEEPEST = 4  # names to follow


def shared_objects(project: ProjectFacts, layers: LayerList) -> Iterator[Reason]:
    """Yield a reason for each layer that may be in the list twice, and each module or array that all layers hold."""
    nodes = [made.node for made in layers.made if len(layers.walk.bases) == 1]  # `a + a` stacks both in the call
    for made in layers.made:
        if made.shared or nodes.count(made.node) > 1:
            yield "SCN204", f"several layers may be one object, `{made.module.code(made.node)}`", made.place
        home = home_of(project, made.module, made.node)
        same = [each.value for each in made.arguments if each.varies is Varies.SAME and each.name != CALLED]
        for value in same if made.repeated and made.cls is not None else ():
            what = _held(home, value)
            if what is not None:
                text = f"every layer is given the same {what}, `{home.module.code(value)}`"
                yield "SCN204", f"{text}; pass it to the layer's call instead", made.place
    for home, value, once in _kept_by_classes(project, layers):
        what = _held(home, value, depth=once)
        if what is not None:
            text = f"every layer holds the same {what}, `{home.module.code(value)}`"
            yield "SCN204", text, home.module.place(value)


def _kept_by_classes(project: ProjectFacts, layers: LayerList) -> Iterator[tuple[Home, ast.expr, bool]]:
    """Yield the existing objects that classes of layers store: module-level names, cached results and defaults.

    The flag is True for defaults, which are evaluated once.
    """
    for part in (part for cls in layers.classes for part in composition(project, cls)):
        for home, function in constructors(project, part):
            outside = Home(project, home.module, None)
            yield from ((outside, each, True) for each in (*function.args.defaults, *function.args.kw_defaults) if each)
            stores = (each for each in nodes_in(*function.body) if isinstance(each, ast.Assign))
            for value in (each.value for each in stores if isinstance(each.targets[0], ast.Attribute)):
                of_module = home.meaning(value) is not None or home.meaning(getattr(value, "value", value)) is not None
                if (_is_name(value) and of_module) or (isinstance(value, ast.Call) and _is_cached(home, value)):
                    yield home, value, False
        for field in project.classes.fields(part).values() if isinstance(part, Definition) else ():
            if field.default is not None and not is_static(field.default):
                default = next((each.value for each in field.keywords if each.arg == "default"), field.default)
                yield Home(project, field.owner.module, None), default, True


def _held(home: Home, node: ast.expr, depth: int = 0) -> str | None:
    """Return "module", "array", "variable" or "object" if an expression is shown to give or hold an existing one.

    At depth 0 the expression is evaluated for each layer, so that a call or an operator makes a new object.
    """
    found = _word(home.project, class_of(home.project, home.module, node)) if depth or _is_name(node) else None
    parts: list[tuple[Home, ast.AST]] = [(home, each) for each in children(node)]
    match node:
        case ast.Name() | ast.Attribute():
            only = only_value(home, node)
            local = home.values_of(node.id) if isinstance(node, ast.Name) else []
            parts = [only] if only is not None else [(home, value) for _, value in local if value is not None]
            depth += 1
        case ast.Call(args=args, keywords=keywords):
            found = "object" if _is_cached(home, node) else found
            keeps = home.project.classes.is_module(home.meaning(node.func)) or home.library(node) in _SAME_OBJECT
            parts = [(home, each) for each in (*args, *(each.value for each in keywords))] if keeps else []
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Lambda():
            parts = []
    inner = (_held(where, each, depth) for where, each in parts if isinstance(each, ast.expr) and depth < _DEEPEST)
    return found or next(filter(None, inner), None)


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)


def _is_cached(home: Home, call: ast.Call) -> bool:
    """True if a function of the project may return the same object from several calls."""
    decorators = getattr(getattr(home.meaning(call.func), "node", None), "decorator_list", ())
    return any("cache" in ast.unparse(each) for each in decorators)


def _word(project: ProjectFacts, cls: object) -> str | None:
    """Return the word for an object by its class; None for a module without arrays, whose fields are all static."""
    if cls == ARRAY:
        return "array"
    if getattr(cls, "qualname", "") in VARIABLES:
        return "variable"
    heirs = (cls, *project.classes.heirs(cls)) if isinstance(cls, Definition) else ()
    fields = [field for each in heirs for field in project.classes.fields(each).values()]
    settings = isinstance(cls, Definition) and all(is_static(each.default) for each in fields)
    return "module" if project.classes.is_module(cls) and not settings else None


def modules_of_lists(project: ProjectFacts, layers: LayerList) -> Iterator[Obligation]:
    """Yield the arguments that take modules from another list, so that several layers may get the same module."""
    for made in layers.made:
        home = home_of(project, made.module, made.node)
        for each in made.arguments if made.repeated and made.cls is not None else ():
            parts = nodes_in(each.value) if each.varies > Varies.KEY else []
            walked = (walked_by(home, part) for part in parts if isinstance(part, ast.Name))
            listed = [*walked, *(part.value for part in parts if isinstance(part, ast.Subscript))]
            found = [one.cls for held in listed if held for one in contents_of(project, made.module, held).made]
            if any(map(project.classes.is_module, found)):
                text = f"`{made.module.code(each.value)}` gives each layer a module of its own"
                yield not_shown(text, made.place)
