"""One object in several layers: a layer that stands in the list twice, a module or an array that layers have in common.

A stack has an array of its own for each layer, so that training makes the copies differ.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.classes.nnx import VARIABLES
from scanify.analysis.flow.names import target_names
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.declared import declared, is_static
from scanify.analysis.lists.home import Home, Repeat, columns
from scanify.analysis.lists.layer_list import CALLED, LayerList, Reason, Varies
from scanify.analysis.lists.objects import home_of
from scanify.analysis.lists.reader import ContentsReader
from scanify.analysis.lists.statements import Put, statements_about
from scanify.analysis.lists.varies import Variation
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters
from scanify.analysis.lower.text import dotted
from scanify.analysis.project_facts import ProjectFacts

Ask = Callable[[ast.expr, frozenset[str]], str | None]

_PLAIN_PARTS = frozenset("shape dtype ndim size itemsize item tolist".split())
_NO_ARRAYS = frozenset(f"jax.numpy.{name}" for name in ("dtype", "shape", "ndim", "size", "finfo", "issubdtype"))
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
            what = _Held(variation.home, made.loops).before(each.value) if same else None
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
    """Reads which expressions of a function give modules or arrays that were made before a layer was.

    `loops` make the layers. `constructor`: the function is a constructor, which runs once for each layer.
    """

    home: Home
    loops: Sequence[Repeat] = ()
    constructor: bool = False

    def before(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> str | None:
        """Return "module" or "array" if every evaluation gives, or holds, one such object that was there before."""
        match node:
            case ast.Call(args=args, keywords=keywords):
                if self.home.library(node) in _SAME_ARRAY:
                    return self._first(self.before, args[:1], seen)
                if _is_cached(self.home.meaning(node.func)):
                    return "object"
                made = Variation(self.home, ()).makes_module(node)
                return self._first(self.before, [*args, *(each.value for each in keywords)], seen) if made else None
            case ast.BinOp(left=left, right=right):
                lists = [each for each in (left, right) if isinstance(each, ast.List | ast.Tuple)]
                return self._first(self.before, lists, seen)
            case ast.UnaryOp() | ast.Compare():
                return None
            case ast.Subscript(value=ast.Call() as made_here) | ast.Attribute(value=ast.Call() as made_here):
                return self.before(made_here, seen)
            case ast.Name() if self.home.is_local(node) and node.id not in seen:
                return self._named(node, seen | {node.id})
            case _:
                return self._first(self.before, parts, seen) if (parts := _parts(node)) else self.kind(node, seen)

    def _named(self, node: ast.Name, seen: frozenset[str]) -> str | None:
        """Return the kind of object that a local name may hold for several layers.

        A name that is bound in the loop that makes the layers, or in a constructor, has a new value for each.
        """
        bodies = [each for loop in self.loops if isinstance(loop, ast.For | ast.While) for each in nodes_in(*loop.body)]
        for statement, value in self.home.values_of(node.id):
            value = value or getattr(statement, "value", None)
            anew = self.constructor or any(statement is each for each in bodies)
            if anew and isinstance(value, ast.expr) and (found := self.before(value, seen)) is not None:
                return found
            if not anew and isinstance(value, ast.expr) and (found := self.kind(value, seen)) is not None:
                return found
        if self.constructor:
            default = default_of(self.home.function, node.id)
            return self.kind(default, seen) if default is not None else None
        function = self.home.function
        given = parameters(function) if function is not None else []
        return self._declared(next((each for each in given if each.arg == node.id), None))

    def kind(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> str | None:
        """Return "module" or "array" if the value of an expression is shown to be one, or to hold one."""
        variation = Variation(self.home, ())
        if variation.is_key(node):
            return None
        match node:
            case ast.Call(func=func):
                if self.home.library(node) in VARIABLES:
                    return "variable"
                if variation.makes_module(node):
                    return None if _holds_settings(self.home.project, self.home.meaning(func)) else "module"
                if isinstance(func, ast.Call) and self.home.library(func).endswith("vmap"):
                    return "array"
                if self.home.library(node).startswith(("jax.numpy.", "jax.random.")):
                    return "array" if self.home.library(node) not in _NO_ARRAYS else None
                method = isinstance(func, ast.Attribute) and func.attr not in _PLAIN_PARTS
                return self.kind(func.value, seen) if method and isinstance(func, ast.Attribute) else None
            case ast.BinOp(left=left, right=right):
                return self._first(self.kind, [left, right], seen)
            case ast.UnaryOp(operand=value) | ast.Subscript(value=value):
                return self.kind(value, seen)
            case ast.Name(id=name) if self.home.is_local(node):
                return self._named(node, seen | {name}) if name not in seen else None
            case ast.Name() | ast.Attribute() if dotted(node) is not None:
                return self._of_field(node, seen)
            case _:
                return self._first(self.kind, _parts(node), seen)

    def _of_field(self, node: ast.Name | ast.Attribute, seen: frozenset[str]) -> str | None:
        """Return the kind of a name of the module or of an attribute, by its assignments or its object's class."""
        name, body = dotted(node) or "", self.home.function.body if self.home.function is not None else ()
        values = [each.value for each in statements_about(self.home, body, name) if isinstance(each, Put)]
        meaning = self.home.meaning(node)
        of_class = self.home.meaning(node.value) if isinstance(node, ast.Attribute) else None
        if isinstance(of_class, Definition) and isinstance(of_class.node, ast.ClassDef):
            constant = self.home.project.classes.constant(of_class, name.rpartition(".")[2])
            return _Held(Home(self.home.project, constant[0].module, None)).kind(constant[1]) if constant else None
        if not values and isinstance(meaning, Definition):
            value = getattr(meaning.node, "value", None)
            there = _Held(Home(self.home.project, meaning.module, None))
            return there.kind(value, seen) if isinstance(value, ast.expr) and name not in seen else None
        if values or not isinstance(node, ast.Attribute):
            return self._first(self.kind, values, seen | {name}) if name not in seen else None
        held = [value for _, value in self.home.values_of(dotted(node.value) or "")]
        body_of = statements_about(self.home, body, dotted(node.value) or "?")
        held += [each.value for each in body_of if isinstance(each, Put)]
        root = self.home.meaning(node.value)
        held.append(getattr(root.node, "value", None) if isinstance(root, Definition) else None)
        if any(_holds_array(self.home, each, node.attr) for each in held):
            return "array"
        return "array" if node.attr not in _PLAIN_PARTS and self.kind(node.value, seen) == "array" else None

    def _declared(self, parameter: ast.arg | None) -> str | None:
        annotation = parameter.annotation if parameter is not None else None
        if annotation is None:
            return None
        said = declared(self.home.project, self.home.module, annotation)
        if said.cls is not None and not said.data:
            return None if _holds_settings(self.home.project, said.cls) else "module"
        return "array" if _is_array(annotation) else None

    def _first(self, ask: Ask, parts: Sequence[ast.expr], seen: frozenset[str]) -> str | None:
        return next((found for each in parts if (found := ask(each, seen)) is not None), None)


def held_by_constructor(home: Home, value: ast.expr) -> str | None:
    """Return "module", "array" or "object" if a constructor stores one that was there before it ran."""
    return _Held(home, constructor=True).before(value)


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


def _holds_array(home: Home, value: ast.expr | None, name: str) -> bool:
    """True if a call makes a module whose field of that name is an array."""
    cls = home.meaning(value.func) if isinstance(value, ast.Call) else None
    if isinstance(cls, External):
        return home.project.classes.is_module(cls) and name in ("weight", "bias")
    field = home.project.classes.fields(cls).get(name) if isinstance(cls, Definition) else None
    return field is not None and _is_array(field.statement.annotation)


def _is_array(annotation: ast.expr) -> bool:
    names = set(_names(annotation))
    return bool(names & _ARRAY_TYPES) and not names & {"int", "float", "bool"}


def _names(annotation: ast.expr) -> Iterator[str]:
    for each in nodes_in(annotation):
        if isinstance(each, ast.Name | ast.Attribute | ast.Constant):
            yield str(getattr(each, "id", None) or getattr(each, "attr", None) or getattr(each, "value", ""))
