"""One object in several layers: a layer that stands in the list twice, a module or an array that layers have in common.

A stack has an array of its own for each layer, so that training makes the copies differ.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.classes.nnx import VARIABLES
from scanify.analysis.flow.names import target_names
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.language.tables import MEASURING
from scanify.analysis.lists.declared import declared, is_static
from scanify.analysis.lists.home import Home, Repeat, columns
from scanify.analysis.lists.layer_list import CALLED, LayerList, Reason, Varies
from scanify.analysis.lists.objects import class_of, home_of
from scanify.analysis.lists.reader import ContentsReader
from scanify.analysis.lists.statements import Put, statements_about
from scanify.analysis.lists.varies import Variation
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters
from scanify.analysis.lower.text import dotted
from scanify.analysis.project_facts import ProjectFacts

_PLAIN_PARTS = frozenset("shape dtype ndim size itemsize item tolist".split())
_ARRAY_TYPES = frozenset({"Array", "ndarray", "ArrayLike"})
_SAME_ARRAY = frozenset({"jax.numpy.asarray", "numpy.asarray", "jax.device_put", "jax.lax.stop_gradient", "copy.copy"})


def shared_objects(project: ProjectFacts, layers: LayerList) -> Iterator[Reason]:
    """One object that several layers are, or that several layers hold."""
    for made in layers.made:
        code = made.module.code(made.node)
        if made.shared and isinstance(made.node, ast.Subscript):
            yield "SCN204", f"several layers may be one object, `{code}`", made.place
        elif made.shared and not made.loops and made.repeated:
            yield "SCN204", "the list repeats one layer object with `*`", made.place
        elif made.shared and made.repeated:
            yield "SCN204", f"every layer is the same object, `{code}`", made.place
        elif made.shared:
            yield "SCN204", "one layer object stands in the list more than once", made.place
    nodes = (
        [made.node for made in layers.made] if len(layers.walk.bases) == 1 else []
    )  # `a + a` stacks both in the call
    for at, made in enumerate(layers.made):
        if made.node in nodes[:at]:
            yield "SCN204", f"`{made.module.code(made.node)}` stands in the list more than once", made.place
        variation = Variation(home_of(project, made.module, made.node), made.loops)
        for each in made.arguments if made.repeated and made.cls is not None else ():
            same = each.varies is Varies.SAME and each.name != CALLED
            what = _Held(variation.home, made.loops).kind(each.value, anew=True) if same else None
            if what is not None:
                code = made.module.code(each.value)
                text = f"every layer is given the same {what}, `{code}`; pass it to the layer's call instead"
                yield "SCN204", text, made.place
            elif (
                each.varies is Varies.OTHER
                and not layers.open
                and any(_may_repeat(variation, node) for node in nodes_in(each.value))
            ):
                text = f"several layers may hold one object that `{made.module.code(each.value)}` gives"
                yield "SCN204", text, made.place


def _may_repeat(variation: Variation, node: ast.AST) -> bool:
    """True if an expression takes modules out of a list, which it may give to several layers."""
    home, loops = variation.home, variation.loops
    names = [
        (part, source)
        for loop in loops
        if not isinstance(loop, ast.While)
        for target, source in columns(home, loop.target, loop.iter)
        for part in target_names(target)
    ]
    source: ast.expr | None
    match node:
        case ast.Subscript(value=ast.Name() as listed, slice=index):
            source, plain = listed, isinstance(index, ast.Name) and (index.id, None) in names
        case ast.Name(id=name):
            source, plain = next((each for part, each in names if part == name), None), True
        case _:
            return False
    if source is None:
        return False
    reader = ContentsReader(home.project)
    reader.value(home, source)
    made = [each for each in reader.contents.made if each.cls is not None and home.project.classes.is_module(each.cls)]
    nodes = [each.node for each in made]
    twice = any(each.shared for each in made) or any(each in nodes[:at] for at, each in enumerate(nodes))
    return bool(made) and (twice or bool(reader.contents.open) or not plain or len(loops) > 1)


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
        match node:
            case ast.Call():
                return self._of_call(node, seen, anew)
            case ast.BinOp(left=left, right=right):
                parts = [each for each in (left, right) if not anew or isinstance(each, ast.List | ast.Tuple)]
                return self._first(parts, seen, anew)
            case ast.UnaryOp(operand=value):
                return None if anew else self.kind(value, seen)
            case ast.Subscript(value=value) | ast.Attribute(value=ast.Call() as value):
                return None if self._is_key(node) else self.kind(value, seen, anew=anew and isinstance(value, ast.Call))
            case ast.Name(id=name) if self.home.is_local(node):
                return None if name in seen or self._is_key(node) else self._named(name, seen | {name}, anew)
            case ast.Name() | ast.Attribute() if dotted(node) is not None:
                return self._of_field(node, seen)
            case _:
                return self._first(_parts(node), seen, anew)

    def _is_key(self, node: ast.expr) -> bool:
        return Variation(self.home, ()).is_key(node)

    def _of_call(self, node: ast.Call, seen: frozenset[str], anew: bool) -> str | None:
        func, library = node.func, self.home.library(node)
        given = [*node.args, *(each.value for each in node.keywords)]
        module = Variation(self.home, ()).makes_module(node)
        if library in _SAME_ARRAY:
            return self._first(given[:1], seen, anew)
        if _is_cached(self.home.meaning(func)):
            return "object"
        if anew or self._is_key(node):
            return self._first(given, seen, anew) if module else None
        if library in VARIABLES:
            return "variable"
        if module:
            return None if _holds_settings(self.home.project, self.home.meaning(func)) else "module"
        if isinstance(func, ast.Call) and self.home.library(func).endswith("vmap"):
            return "array"
        if library.startswith(("jax.numpy.", "jax.random.")):
            return "array" if library.rpartition(".")[2] not in MEASURING else None
        method = isinstance(func, ast.Attribute) and func.attr not in _PLAIN_PARTS
        return self.kind(func.value, seen) if method and isinstance(func, ast.Attribute) else None

    def _named(self, name: str, seen: frozenset[str], anew: bool) -> str | None:
        """Return the kind of object that a local name may hold for several layers.

        A name that is bound in the loop that makes the layers, or in a constructor, has a new value for each.
        """
        bodies = [each for loop in self.loops if isinstance(loop, ast.For | ast.While) for each in nodes_in(*loop.body)]
        for statement, value in self.home.values_of(name):
            value = value or getattr(statement, "value", None)
            inside = self.constructor or any(statement is each for each in bodies)
            if isinstance(value, ast.expr) and (found := self.kind(value, seen, anew=inside)) is not None:
                return found
        if self.constructor:
            default = default_of(self.home.function, name)
            return self.kind(default, seen) if default is not None else None
        given = parameters(self.home.function) if self.home.function is not None else ()
        annotation = next((each.annotation for each in given if each.arg == name), None)
        said = declared(self.home.project, self.home.module, annotation)
        if said.cls is not None and not said.data:
            return None if _holds_settings(self.home.project, said.cls) else "module"
        return "array" if annotation is not None and _is_array(annotation) else None

    def _of_field(self, node: ast.Name | ast.Attribute, seen: frozenset[str]) -> str | None:
        """Return the kind of a name of the module or of an attribute, by its assignments or its object's class."""
        name, body = dotted(node) or "", self.home.function.body if self.home.function is not None else ()
        if name in seen:
            return None
        values = [each.value for each in statements_about(self.home, body, name) if isinstance(each, Put)]
        if values:
            return self._first(values, seen | {name}, False)
        meaning = self.home.meaning(node)
        value = getattr(meaning.node, "value", None) if isinstance(meaning, Definition) else None
        if isinstance(meaning, Definition) and isinstance(value, ast.expr):
            return _Held(Home(self.home.project, meaning.module, None)).kind(value, seen | {name})
        if not isinstance(node, ast.Attribute):
            return None
        holder, project = self.home.meaning(node.value), self.home.project
        if isinstance(holder, Definition) and isinstance(holder.node, ast.ClassDef):
            constant = project.classes.constant(holder, node.attr)
            return _Held(Home(project, constant[0].module, None)).kind(constant[1]) if constant else None
        owner = class_of(project, self.home.module, node.value)
        if owner is None and isinstance(holder, Definition):
            made = getattr(holder.node, "value", None)
            owner = class_of(project, holder.module, made) if isinstance(made, ast.expr) else None
        if isinstance(owner, External):
            return "array" if node.attr in ("weight", "bias") else None
        field = project.classes.fields(owner).get(node.attr) if owner is not None else None
        if field is not None and _is_array(field.statement.annotation):
            return "array"
        return "array" if node.attr not in _PLAIN_PARTS and self.kind(node.value, seen) == "array" else None

    def _first(self, parts: Sequence[ast.expr], seen: frozenset[str], anew: bool) -> str | None:
        return next((found for each in parts if (found := self.kind(each, seen, anew=anew)) is not None), None)


def held_by_constructor(home: Home, value: ast.expr) -> str | None:
    """Return "module", "array" or "object" if a constructor stores one that was there before it ran."""
    return _Held(home, constructor=True).kind(value, anew=True)


def held_by_class(home: Home, default: ast.expr | None) -> str | None:
    """Return "module" or "array" if the default of a field is one, which all objects of the class share."""
    if isinstance(default, ast.Call) and any(each.arg in ("default", "static") for each in default.keywords):
        default = next((each.value for each in default.keywords if each.arg == "default"), None)
    return _Held(home).kind(default) if default is not None else None


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
        case ast.Starred(value=value) | ast.NamedExpr(value=value):
            return [value]
        case _:
            return []


def _holds_settings(project: ProjectFacts, cls: object) -> bool:
    """True if all fields of a class and of its subclasses are static: its objects hold no arrays."""
    if not isinstance(cls, Definition):
        return False
    fields = [field for each in (cls, *project.classes.heirs(cls)) for field in project.classes.fields(each).values()]
    return all(is_static(each.default) for each in fields)


def _is_array(annotation: ast.expr) -> bool:
    names = set(_names(annotation))
    return bool(names & _ARRAY_TYPES) and not names & {"int", "float", "bool"}


def _names(annotation: ast.expr) -> Iterator[str]:
    for each in nodes_in(annotation):
        if isinstance(each, ast.Name | ast.Attribute | ast.Constant):
            yield str(getattr(each, "id", None) or getattr(each, "attr", None) or getattr(each, "value", ""))
