"""One object in several layers: a layer that stands in the list twice, a module or an array that layers have in common.

A stack has an array of its own for each layer, so that training makes the copies differ.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.classes.nnx import VARIABLES
from scanify.analysis.index.meaning import Definition
from scanify.analysis.lists.declared import is_static
from scanify.analysis.lists.home import Home, Repeat
from scanify.analysis.lists.layer_list import CALLED, LayerList, Reason, Varies, not_shown
from scanify.analysis.lists.objects import ARRAY, class_of, contents_of, home_of, walked_by
from scanify.analysis.lists.varies import Variation
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted
from scanify.analysis.obligation import Obligation
from scanify.analysis.project_facts import ProjectFacts

# Functions that return the array or the object that they are passed, or one that shares its memory.
_SAME_OBJECT = frozenset({"jax.numpy.asarray", "numpy.asarray", "jax.device_put", "jax.lax.stop_gradient", "copy.copy"})


def shared_objects(project: ProjectFacts, layers: LayerList) -> Iterator[Reason]:
    """Yield the layers that are one object, and the modules and arrays that all layers are passed."""
    alone = len(layers.walk.bases) == 1  # `a + a` stacks both in the call
    nodes = [made.node for made in layers.made] if alone else []
    for at, made in enumerate(layers.made):
        code = made.module.code(made.node)
        if made.shared and not made.loops and made.repeated:
            yield "SCN204", "the list repeats one layer object with `*`", made.place
        elif made.shared:
            yield "SCN204", f"several layers may be one object, `{code}`", made.place
        elif made.node in nodes[:at]:
            yield "SCN204", f"`{code}` stands in the list more than once", made.place
        same = [each for each in made.arguments if each.varies is Varies.SAME and each.name != CALLED]
        for each in same if made.repeated and made.cls is not None else ():
            what = _Held(home_of(project, made.module, made.node), made.loops).kind(each.value, anew=True)
            if what is not None:
                given = made.module.code(each.value)
                text = f"every layer is given the same {what}, `{given}`; pass it to the layer's call instead"
                yield "SCN204", text, made.place


def modules_of_lists(project: ProjectFacts, layers: LayerList) -> Iterator[Obligation]:
    """Yield the arguments that take modules out of another list, which may give one to several layers."""
    for made in layers.made:
        home = home_of(project, made.module, made.node)
        for each in made.arguments if made.repeated and made.cls is not None else ():
            parts = nodes_in(each.value) if each.varies is Varies.OTHER else []
            listed = [part.value for part in parts if isinstance(part, ast.Subscript)]
            listed += [
                held for part in parts if isinstance(part, ast.Name) and (held := walked_by(home, part)) is not None
            ]
            found = [one.cls for held in listed for one in contents_of(project, made.module, held).made]
            if any(map(project.classes.is_module, found)):
                text = f"`{made.module.code(each.value)}` gives each layer a module of its own"
                yield not_shown(text, made.place)


def held_by_constructor(home: Home, value: ast.expr) -> str | None:
    """Return "module", "array" or "object" if a constructor stores one that was there before it ran."""
    return _Held(home, constructor=True).kind(value, anew=True)


def held_by_class(home: Home, default: ast.expr | None) -> str | None:
    """Return "module" or "array" if the default of a field is one, which all objects of the class share."""
    if isinstance(default, ast.Call) and any(each.arg in ("default", "static") for each in default.keywords):
        default = next((each.value for each in default.keywords if each.arg == "default"), None)
    return _Held(home).kind(default) if default is not None else None


@dataclass(frozen=True, eq=False)
class _Held:
    """Reads which expressions of a function give modules or arrays that several layers hold.

    `loops` make the layers. `constructor`: the function is a constructor, which runs once for each layer.
    """

    home: Home
    loops: Sequence[Repeat] = ()
    constructor: bool = False

    def kind(self, node: ast.expr, seen: frozenset[str] = frozenset(), *, anew: bool = False) -> str | None:
        """Return "module", "array", "variable" or "object" if an expression is shown to give one, or to hold one.

        With `anew` it is evaluated for each layer, so that an object that it makes itself is none that layers share.
        """
        variation = Variation(self.home, ())
        if variation.is_key(node):
            return None
        if isinstance(node, ast.Name) and (values := self._values(node)):
            own = () if node.id in seen else values
            return self._first((self.kind(value, seen | {node.id}, anew=new) for value, new in own), None)
        parts = _parts(node)
        if isinstance(node, ast.Call):
            if _is_cached(self.home.meaning(node.func)):
                return "object"
            keeps = variation.makes_module(node) or self.home.library(node) in _SAME_OBJECT
            parts = [*node.args, *(each.value for each in node.keywords)] if keeps else []
        base = node
        while isinstance(base, ast.Attribute | ast.Subscript):
            base = base.value
        computed = anew and isinstance(base, ast.Call | ast.BinOp | ast.UnaryOp)
        return self._first((self.kind(each, seen, anew=anew) for each in parts), None if computed else node)

    def _first(self, kinds: Iterator[str | None], node: ast.expr | None) -> str | None:
        """The first kind that is shown, or what an expression gives itself."""
        return next((each for each in kinds if each is not None), None) or (self._word(node) if node else None)

    def _values(self, name: ast.Name) -> list[tuple[ast.expr, bool]]:
        """The values of a local name, each with whether it is made anew for each layer."""
        if not self.home.is_local(name):
            return []
        bodies = [each for loop in self.loops if isinstance(loop, ast.For | ast.While) for each in nodes_in(*loop.body)]
        bound = [(value or getattr(at, "value", None), at) for at, value in self.home.values_of(name.id)]
        values = [(value, self.constructor or at in bodies) for value, at in bound if isinstance(value, ast.expr)]
        default = default_of(self.home.function, name.id) if self.constructor else None
        return [*values, *([(default, False)] if default is not None else [])]

    def _word(self, node: ast.expr) -> str | None:
        """What an object is in words, by its class."""
        project = self.home.project
        cls = class_of(project, self.home.module, node)
        if cls == ARRAY:
            return "array"
        if getattr(cls, "qualname", "") in VARIABLES:
            return "variable"
        return "module" if project.classes.is_module(cls) and not _holds_settings(project, cls) else None


def default_of(function: ast.AST | None, name: str) -> ast.expr | None:
    """Return the default of a parameter, None if it has none."""
    given = getattr(function, "args", None)
    if not isinstance(given, ast.arguments):
        return None
    plain = [*given.posonlyargs, *given.args]
    pairs = [*zip(plain[len(plain) - len(given.defaults) :], given.defaults, strict=True)]
    pairs += [(each, default) for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default]
    return next((default for each, default in pairs if each.arg == name), None)


def _is_cached(meaning: object) -> bool:
    """True of a function of the project that may return one object for several calls."""
    decorators = getattr(getattr(meaning, "node", None), "decorator_list", ())
    return any((dotted(getattr(each, "func", each)) or "").endswith(("cache", "lru_cache")) for each in decorators)


def _parts(node: ast.expr) -> list[ast.expr]:
    """The expressions one of which, or all of which, an expression gives."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.BoolOp(values=values) | ast.Dict(values=values):
            return values
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return parts
        case ast.Starred(value=value) | ast.NamedExpr(value=value) | ast.Subscript(value=value):
            return [value]
        case _:
            return []


def _holds_settings(project: ProjectFacts, cls: object) -> bool:
    """True if all fields of a class and of its subclasses are static: its objects hold no arrays."""
    if not isinstance(cls, Definition):
        return False
    fields = [field for each in (cls, *project.classes.heirs(cls)) for field in project.classes.fields(each).values()]
    return all(is_static(each.default) for each in fields)
