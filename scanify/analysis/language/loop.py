"""One iteration of a loop: the obligations of its body, and of its carries.

understood(project, loop, shape, made) -> LoopObligations
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from scanify.analysis.facts import Place
from scanify.analysis.flow.around import LOOPS, path_to, statements_around
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.language import types as t
from scanify.analysis.language.carries import kept_conditions, start_conditions
from scanify.analysis.language.libraries.calls import LAYER
from scanify.analysis.language.names import bindings, needed, repeated
from scanify.analysis.language.tables import MANAGERS
from scanify.analysis.language.walker import Walker
from scanify.analysis.lower.bound import names_bound_by
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Scope, ancestors
from scanify.analysis.obligation import Obligation
from scanify.analysis.project_facts import ProjectFacts

_OF_CODE = ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__")  # the parts of a function


@dataclass
class LoopObligations:
    """The conditions of a loop's body. `layers` is the type of the layers.

    `starts` and `results` are the types of the carries before the loop and after an iteration. `beside` are the types
    of the elements of the other xs, `sources` the types of their containers. `ys` are the collected expressions, each
    with the name of its collection ("" for the element of a comprehension) and its type. `effects` describe changes
    outside of an iteration, with their places; `notes` are facts that a user should know. `opaque`: no class of the
    layers is shown, so their calls are not interpreted.
    """

    obligations: tuple[Obligation, ...] = ()
    layers: t.Type = field(default_factory=lambda: t.Unknown("no layers"))
    starts: dict[str, t.Type] = field(default_factory=dict)
    results: dict[str, t.Type] = field(default_factory=dict)
    beside: dict[Walk, t.Type] = field(default_factory=dict)
    sources: dict[Walk, t.Type] = field(default_factory=dict)
    effects: Mapping[str, Place | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ys: Sequence[tuple[str, ast.expr, t.Type]] = ()
    opaque: bool = False


def understood(
    project: ProjectFacts,
    loop: Loop,
    shape: LoopShape,
    made: Sequence[Definition | External | None] = (),
    *,
    home: tuple[Definition | None, str | None] = (None, None),
    trees: bool = False,
) -> LoopObligations:
    """Interpret the function around a loop and then one iteration, in which every operation must be understood.

    `made` are the classes of the expressions that make the layers, None for a class that is not shown; an annotation of
    the list need not name them. `home` is the class and the field that hold the layers; changes of that list by other
    code are a separate obligation. With `trees` the layers are trees of arrays.
    """
    walker = _LoopWalker(project, loop, shape, made, trees=trees)
    walker.home = home
    with suppress(_HasEffect):
        walker.iterate()
    notes = tuple(filter(None, walker.notes))
    return replace(walker.result, obligations=walker.obligations, effects=walker.effects, notes=notes)


class _HasEffect(Exception):
    """An iteration has an effect, so the rest of it makes no difference."""


class _LoopWalker(Walker):
    """Interprets one iteration; names around the loop get their types from their bindings."""

    def __init__(
        self,
        project: ProjectFacts,
        loop: Loop,
        shape: LoopShape,
        made: Sequence[Definition | External | None],
        trees: bool,  # passed on from a keyword
    ) -> None:
        super().__init__(project)
        self.made = made
        self.trees = trees
        self.loop = loop
        self.shape = shape
        self.result = LoopObligations()
        self.collected = frozenset(each.name for each in shape.collections) | {loop.appends_to or ""}
        self.collector = loop.scope.function
        self.types: dict[ast.expr, t.Type] = {}  # types of collected expressions
        bound = {name for node in nodes_in(loop.node) for name in names_bound_by(node)}
        self.bound = bound - self.collected

    # -- before the loop -------------------------------------------------------------------------------------------

    def by_bindings(self, scope: Scope, name: str) -> t.Type:
        """Return the type of a name; a name that the loop binds has none in functions that are defined before it."""
        if scope is self.collector and name in self.bound:
            return t.Unknown(f"`{name}` is bound several times around the function")
        return super().by_bindings(scope, name)

    def bind_all(self, scope: Scope, env: t.Env) -> None:
        """Bind the names of a scope; in the loop's own function, with the types that they have before the loop."""
        if scope is not self.collector:
            return super().bind_all(scope, env)
        loop, spans, path = self.loop, self.loop.module.span, path_to(self.loop)
        around = list(ancestors(loop.module, loop.node))
        again = [spans(each).start for each in statements_around(loop) if isinstance(each, LOOPS)]
        found = needed(bindings(scope), loop.node, *loop.body, *(base for walk in loop.walks for base in walk.bases))
        earlier = [node for node, _ in found if spans(node).end <= loop.place.span.start or node in around]
        later = {name for node, names in found if node not in earlier for name in names} if again else set()
        env.names.update((name, t.Unknown(f"`{name}` is bound in a loop around")) for name in later)
        for node, names in found:
            if node in earlier:
                bound = [name for name in names if name not in later or spans(node).start > min(again)]
                self.bind_names(node, bound, env, surely=node in path)
        return None

    def _managers(self, env: t.Env) -> None:
        """Record context managers around the loop that are not listed."""
        for each in statements_around(self.loop):
            items = each.items if isinstance(each, ast.With | ast.AsyncWith) else ()
            called = [item.context_expr.func for item in items if isinstance(item.context_expr, ast.Call)]
            listed = [getattr(self.evaluate(func, env), "qualname", "") in MANAGERS for func in called]
            if len(called) < len(items) or not all(listed):
                self._condition("the way to the loop is not understood")

    # -- one iteration ---------------------------------------------------------------------------------------------

    def iterate(self) -> None:
        """Interpret one iteration, a second time if the types of carries change."""
        for name in (each for each in _OF_CODE if any(self.index.paths_with(each))):
            self._condition(f"`{name}` of functions, which code of the project names, is not replaced")
        env = t.Env(self.loop.module, {}, None, self.loop.scope, lazy=True)
        self._managers(env)
        body = self._begun(env)
        carries = {name: body.names[name] for name in self.result.starts}
        found = [(name, node) for name, nodes in self.shape.collected.values.items() for node in nodes]
        wanted = [*found, *([("", self.loop.element)] if self.loop.element is not None else ())]
        self.types = {node: t.Unknown("no iteration reaches it") for _, node in wanted}
        for _ in range(2):
            after = body.copy()
            self.run(self.loop.body, after, [])
            joined = {name: t.join([carries[name], after.names.get(name)]) for name in carries}
            changed = {name: value for name, value in joined.items() if type(value) is not type(body.names[name])}
            if all(isinstance(each, t.Unknown) and each.noted for each in changed.values()):
                break  # the result of an operation already recorded needs no obligation of its own
            body.names.update(changed)
        self.result.results = {name: after.names[name] for name in carries if name in after.names}
        self._keeps(carries, after)
        self.result.ys = [(name, node, self.types[node]) for name, node in wanted]

    def evaluate(self, node: ast.expr, env: t.Env) -> t.Type:
        """Return the type of an expression, and keep it if the expression is collected."""
        value = super().evaluate(node, env)
        if node in self.types and not self.muted:
            self.types[node] = value
        return value

    def effect(self, module: Module, node: ast.AST, text: str) -> t.Unknown:
        """Record the first effect of an iteration, and stop."""
        found = super().effect(module, node, text)
        if self.effects:
            raise _HasEffect
        return found

    def _condition(self, text: str) -> None:
        self.condition(self.loop.module, self.loop.node, text)

    def _begun(self, env: t.Env) -> t.Env:
        """Return the names at the start of an iteration: the carries, and the targets of the loop."""
        several = repeated(nodes_in(self.loop.node)) - set(self.shape.carry)
        body = t.Env(self.loop.module, {}, env, self.loop.scope.function, several)
        starts = {name: self._start(name) for name in self.shape.carry}
        self.result.starts = starts
        body.names.update({name: self._carried(name, start) for name, start in starts.items()})
        for walk in self.loop.walks:
            self.bind(walk.target, self._walked(walk, env), body)
        if self.loop.index is not None:
            self.bind(self.loop.index.target, t.Static(), body)
        return body

    def _start(self, name: str) -> t.Type:
        scope = self.loop.scope.binding(name)
        found = super().by_bindings(scope, name) if scope is not None else t.Nothing()
        return found if scope in self.around and name in self.around[scope].names else t.Nothing()

    def _walked(self, walk: Walk, env: t.Env) -> t.Type:
        """Return the type of the elements of a walk."""
        with self.silent():
            bases = [self.evaluate(each, env) for each in walk.bases]
            found = t.join(self._elements(each, env, walk) for each in bases)
            source = bases[0] if len(bases) == 1 else t.Items("list", None, found)
            if walk.element is not None:
                inner = env.copy()
                targets = (each.id for each in ast.walk(self.loop.target) if isinstance(each, ast.Name))
                inner.names.update(dict.fromkeys(targets, t.Static()))
                element = self.evaluate(walk.element, inner)
                found = found if isinstance(element, t.Unknown) else element
            elif walk.via == "values" and isinstance(source, t.Items):
                found = source.element or t.Unknown("nothing shows its elements")
        self.result.sources[walk] = source
        if walk is self.shape.layer:
            return self._layers(found)
        self.result.beside[walk] = found
        for option in (*t.options(found), *t.options(source)):
            if isinstance(option, t.Unknown):
                self.note(env.module, walk.source, option.why)
            elif isinstance(option, t.Given) and option.name.endswith("()"):
                self.note(env.module, walk.source, f"`{option.name}` may return an iterator; annotate it")
        return found

    def _elements(self, source: t.Type, env: t.Env, walk: Walk) -> t.Type:
        if isinstance(t.without_none(source), t.Given):
            return t.Array(certain=False)
        return self.element(env.module, walk.base, source)

    def _layers(self, found: t.Type) -> t.Type:
        """Return the type of the layers; if no class is shown, a callable one."""
        self.result.layers = found
        if self.trees:
            return t.Array()
        shown = t.options(t.without_none(found))
        unknown = t.Unknown if self.made and None not in self.made else ()
        known = t.join([*(each for each in shown if not isinstance(each, unknown)), *self._made_too(found)])
        classes = [each.cls if isinstance(each, t.Object) else each for each in t.options(known)]
        if any(map(self.classes.is_nnx, classes)):
            known = self.result.layers = t.Unknown("a call may write to variables that other code holds")
        if any(not isinstance(each, t.Object | t.LibraryObject | t.Items | t.Function) for each in t.options(known)):
            self.result.opaque = True
            return t.LibraryObject(LAYER)
        return known

    def _made_too(self, found: t.Type) -> Iterator[t.Type]:
        """Yield the types of layers that the list is shown to hold, although its annotation does not name them."""
        declared = [each.cls.node for each in t.options(found) if isinstance(each, t.Object)]
        for cls in self.made:
            if isinstance(cls, Definition) and not any(each.node in declared for each in self.classes.lineage(cls)):
                yield t.Object(cls)
            elif isinstance(cls, External):
                yield t.LibraryObject(cls.qualname)

    def _carried(self, name: str, start: t.Type) -> t.Type:
        """Return the type of a carry in an iteration, where a scan carries arrays."""
        unknown = any(isinstance(each, t.Unknown) for each in t.options(start))
        number = unknown and any(isinstance(each, ast.Constant) for each in self.shape.starts.get(name, ()))
        if number or any(isinstance(each, t.Static) for each in t.options(start)):
            self._condition(f"`{name}` keeps its dtype, though it starts as a Python number")
        made = (each for start in self.shape.starts.get(name, ()) for each in ast.walk(start))
        if any((self.loop.scope.qualified(getattr(each, "func", None)) or "").startswith("numpy.") for each in made):
            self._condition(f"`{name}` keeps its dtype, though it starts as an array of numpy")

        def carried(option: t.Type) -> t.Type:
            match option:
                case t.Array(shape=shape, certain=certain):
                    return t.Array(shape or name, None, certain)
                case t.Given() | t.Static() | t.Unknown():
                    return t.Array(name, None, isinstance(option, t.Static))
                case t.Items(kind=kind):
                    return t.Items(kind, None, t.Array(), self.own)
                case _:
                    return option

        return t.join(map(carried, t.options(start)))

    def _keeps(self, carries: dict[str, t.Type], after: t.Env) -> None:
        """Record the conditions under which the carries keep their shapes and dtypes."""
        for name, before in carries.items():
            start, value = self.result.starts[name], after.names.get(name, t.Nothing())
            if name not in self.shape.last and not isinstance(start, t.Nothing):
                made = self.shape.starts.get(name, ())
                for text in (*start_conditions(name, made, start, value), *kept_conditions(name, start, before, value)):
                    self._condition(text)
