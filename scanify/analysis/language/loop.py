"""What one loop does in each iteration: the obligations of its body, and of its carries.

understood(project, loop, shape, made) -> LoopObligations
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scanify.analysis.facts import Place
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.language import types as t
from scanify.analysis.language.carries import kept_conditions, start_conditions
from scanify.analysis.language.libraries.classes import LAYER
from scanify.analysis.language.names import names_of
from scanify.analysis.language.walker import Walker
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.scope import FUNCTIONS
from scanify.analysis.obligation import Kind, Obligation
from scanify.analysis.project_facts import ProjectFacts

_OF_CODE = ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__")  # a function's own parts


@dataclass
class LoopObligations:
    """What must hold of a loop's body. `layers` is the type of the layers, None if the loop was not reached.

    `starts` are the types that the carries begin with, `results` those after an iteration, `beside` those of the
    elements that are walked beside the layers, `sources` those of the containers. `ys` are the collected expressions,
    each with the name of its collection ("" for the element of a comprehension) and its type. `effects` change
    something outside of an iteration, each in words and with its place; `notes` are facts that a user should know.
    `opaque`: no class of the layers is shown, and calls of them are not walked.
    """

    obligations: tuple[Obligation, ...] = ()
    layers: t.Type | None = None
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
    """Walk the function around a loop, and then one iteration, of which every operation must be understood.

    `made` are the classes of the expressions that make the layers, which an annotation of the list need not name; None
    for one that is not shown. `home` is the field that holds the layers, with its class: that other code changes the
    list is an obligation of its own. With `trees` the layers are trees of arrays.
    """
    walker = _LoopWalker(project, loop, shape, made, trees=trees)
    walker.home = home
    walker.begin()
    notes = tuple(filter(None, walker.notes))
    return replace(walker.result, obligations=walker.obligations, effects=walker.effects, notes=notes)


class _LoopWalker(Walker):
    """Walks up to a loop in silence, and one iteration with obligations."""

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
        self.target = loop.node
        self.result = LoopObligations()
        self.collected = frozenset(each.name for each in shape.collections) | {loop.appends_to or ""}
        self.types: dict[ast.expr, t.Type] = {}  # of expressions whose values are collected
        self.inside = False

    # -- up to the loop --------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Walk the outermost function around the loop, or the module."""
        scopes = [scope for scope in self.loop.scope.chain() if isinstance(scope.node, (*FUNCTIONS, ast.Lambda))]
        module = self.loop.module
        env = t.Env(module, facts=names_of(module.tree))
        with self.silent():
            if not scopes:
                self.run(module.tree.body, env, [])
            else:
                parent = scopes[-1].parent
                self._enter(scopes[-1].node, env, parent.node if parent is not None else None)
        if self.result.layers is None:
            text = "the way to the loop is not understood"
            self.found[text, None] = Obligation(Kind.BODY, text, self.loop.place)

    def _enter(self, node: ast.AST, env: t.Env, owner: ast.AST | None = None) -> None:
        """Walk a function, which may be a method of a class, with what its annotations declare of its parameters."""
        assert isinstance(node, (*FUNCTIONS, ast.Lambda))
        facts = names_of(node)
        env = replace(env, names={}, facts=replace(facts, several=facts.several | self._bound_in_loop()))
        self._bind_parameters(node.args, env)
        plain = [*node.args.posonlyargs, *node.args.args]
        kinds = {getattr(each, "id", "") for each in getattr(node, "decorator_list", ())}
        if isinstance(owner, ast.ClassDef) and plain and not kinds & {"classmethod", "staticmethod"}:
            env.names[plain[0].arg] = t.Object(self._class(owner))
        self.active.append(node)
        if isinstance(node, ast.Lambda):
            self.evaluate(node.body, env)
        else:
            self.run(node.body, env, [])
        self.active.pop()

    def _bound_in_loop(self, times: int = 1) -> frozenset[str]:
        """The names that the loop binds at so many places: once is enough for functions that are defined before it to
        see them changed, those of its body see what one iteration binds."""
        nodes = (each for each in ast.walk(self.loop.node) if isinstance(each, ast.Name))
        bound = Counter(each.id for each in nodes if isinstance(each.ctx, ast.Store))
        return frozenset(name for name, count in bound.items() if count >= times)

    def _class(self, node: ast.ClassDef) -> Definition:
        meaning = self.index.resolve(self.loop.module, node.name)
        same = isinstance(meaning, Definition) and meaning.node is node
        return meaning if same else Definition(self.loop.module, node.name, node)  # type: ignore[return-value]

    def _bind_parameters(self, args: ast.arguments, env: t.Env) -> None:
        """Bind parameters by their annotations, and by defaults that are constants."""
        plain = [*args.posonlyargs, *args.args]
        defaults = [*[None] * (len(plain) - len(args.defaults)), *args.defaults, *args.kw_defaults]
        for arg, default in zip([*plain, *args.kwonlyargs], defaults, strict=True):
            found = self.declared_argument(env.module, arg)
            if isinstance(default, ast.Constant) and default.value is None:
                found = t.join([found, t.Nothing()])
            known = isinstance(default, ast.Constant) and isinstance(found, t.Given)
            env.names[arg.arg] = t.Static() if known else found
        for each, kind in ((args.vararg, "tuple"), (args.kwarg, "dict")):
            if each is not None:
                env.names[each.arg] = t.Items(kind, None, t.Given(each.arg))

    def evaluate(self, node: ast.expr, env: t.Env) -> t.Type:
        """The type of an expression, of which the loop may be one."""
        if node is self.target:
            self.at_target(env)
        value = super().evaluate(node, env)
        if node in self.types and self.inside:
            self.types[node] = value
        return value

    def local_function(self, node: ast.FunctionDef, env: t.Env) -> t.Type:
        """A function that is defined in another one, which is entered if it holds the loop."""
        if not self.inside and self.result.layers is None and any(each is self.target for each in ast.walk(node)):
            self._enter(node, replace(env, outer=env, own=""))
        return super().local_function(node, env)

    # -- one iteration ---------------------------------------------------------------------------------------------

    def at_target(self, env: t.Env) -> None:
        """Walk one iteration where the loop is reached first."""
        if self.inside or self.result.layers is not None:
            return
        self.inside = True
        muted, self.muted = self.muted, 0
        for name in _OF_CODE:
            if any(self.index.paths_with(name)):
                self._condition(f"`{name}` of functions, which code of the project names, is not replaced")
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
            if not changed:
                break
            body.names.update(changed)
        self.result.results = {name: after.names[name] for name in carries if name in after.names}
        self._keeps(carries, after)
        self.result.ys = [(name, node, self.types[node]) for name, node in wanted]
        self.muted = muted
        self.inside = False
        self.reached = True
        if self.result.layers is None:
            self.result.layers = t.Unknown("no layers")

    def _condition(self, text: str) -> None:
        self.condition(self.loop.module, self.loop.node, text)

    def _begun(self, env: t.Env) -> t.Env:
        """The names that an iteration begins with: the carries, and the elements that are walked."""
        several = self._bound_in_loop(times=2) - set(self.shape.carry)
        body = replace(env.copy(), facts=replace(env.facts, several=several))
        starts = {name: body.lookup(name) or t.Nothing() for name in self.shape.carry}
        if self.loop.start is not None:  # evaluated before the elements are, which it must not change
            starts[self.loop.carry or ""] = self.evaluate(self.loop.start, env)
        self.result.starts = starts
        body.names.update({name: self._carried(name, start) for name, start in starts.items()})
        for walk in self.loop.walks:
            self.bind(walk.target, self._walked(walk, env), body)
        if self.loop.index is not None:
            self.bind(self.loop.index.target, t.Static(), body)
        return body

    def _walked(self, walk: Walk, env: t.Env) -> t.Type:
        """The type of the element of a walk."""
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
            elif isinstance(option, t.Given) and option.returned:
                self.note(env.module, walk.source, f"`{option.name}` may return an iterator; annotate it")
        return found

    def _elements(self, source: t.Type, env: t.Env, walk: Walk) -> t.Type:
        if isinstance(t.without_none(source), t.Given):
            return t.Array(certain=False)
        return self.element(env.module, walk.base, source)

    def _layers(self, found: t.Type) -> t.Type:
        """The type of the layers; of those of no known class one that may be called."""
        self.result.layers = found
        if self.trees:
            return t.Array()
        shown = t.options(t.without_none(found))
        if self.made and None not in self.made:
            shown = [each for each in shown if not isinstance(each, t.Unknown)]
        known = t.join([*shown, *self._made_too(found)])
        classes = [each.cls if isinstance(each, t.Object) else each for each in t.options(known)]
        if any(map(self.classes.is_nnx, classes)):
            known = self.result.layers = t.Unknown("a call may write to variables that other code holds")
        if any(not isinstance(each, t.Object | t.LibraryObject | t.Items | t.Function) for each in t.options(known)):
            self.result.opaque = True
            return t.LibraryObject(LAYER)
        return known

    def _made_too(self, found: t.Type) -> Iterator[t.Type]:
        """Layers of classes that the list is shown to hold, which its annotation does not name."""
        declared = [each.cls.node for each in t.options(found) if isinstance(each, t.Object)]
        libraries = [each.qualname for each in t.options(found) if isinstance(each, t.LibraryObject)]
        for cls in self.made:
            if isinstance(cls, Definition) and not any(each.node in declared for each in self.classes.lineage(cls)):
                yield t.Object(cls)
            elif isinstance(cls, External) and cls.qualname not in libraries:
                yield t.LibraryObject(cls.qualname)

    def _carried(self, name: str, start: t.Type) -> t.Type:
        """The type of a carry: what a scan carries are arrays."""
        unknown = any(isinstance(each, t.Unknown) for each in t.options(start))
        number = unknown and any(isinstance(each, ast.Constant) for each in self.shape.starts.get(name, ()))
        if number or any(isinstance(each, t.Static) for each in t.options(start)):
            self._condition(f"`{name}` keeps its dtype, though it starts as a Python number")
        found: list[t.Type] = []
        for option in t.options(start):
            match option:
                case t.Array(shape=shape, certain=certain):
                    found.append(t.Array(shape or name, None, certain))
                case t.Given(name=shape):
                    found.append(t.Array(shape, None, False))
                case t.Static() | t.Unknown():
                    found.append(t.Array(name, None, isinstance(option, t.Static)))
                case t.Items(kind=kind):
                    found.append(t.Items(kind, None, t.Array(), self.own))
                case _:
                    found.append(option)
        return t.join(found)

    def _keeps(self, carries: dict[str, t.Type], after: t.Env) -> None:
        """The conditions under which a carry keeps its shape and dtype."""
        for name, before in carries.items():
            start, value = self.result.starts[name], after.names.get(name, t.Nothing())
            if name not in self.shape.last and not isinstance(start, t.Nothing):
                made = self.shape.starts.get(name, ())
                for text in (*start_conditions(name, made, start, value), *kept_conditions(name, start, before, value)):
                    self._condition(text)
