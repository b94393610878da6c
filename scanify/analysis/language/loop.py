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
from scanify.analysis.language.carries import kept_conditions, start_conditions
from scanify.analysis.language.libraries.classes import LAYER
from scanify.analysis.language.names import names_of
from scanify.analysis.language.types import (
    Array,
    ClassOf,
    Env,
    Function,
    Given,
    Items,
    LibraryObject,
    Nothing,
    Object,
    Static,
    Type,
    Unknown,
    join,
    options,
    without_none,
)
from scanify.analysis.language.walker import Walker
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.scope import FUNCTIONS, Scope
from scanify.analysis.obligation import Kind, Obligation
from scanify.analysis.project_facts import ProjectFacts

_OF_CODE = ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__")  # a function's own parts


@dataclass
class LoopObligations:
    """What must hold of a loop's body. `layers` is the type of the layers, None if the loop was not reached.

    `starts` are the types that the carries begin with, `beside` those of the elements that are walked beside the
    layers, `sources` those of the containers. `ys` are the collected expressions, each with the name of its collection
    ("" for the element of a comprehension) and its type. `effects`
    change something outside of an iteration, each in words and with its place; `notes` are facts that a user should
    know. `opaque`: no class of the layers is shown, and calls of them are not walked.
    """

    obligations: tuple[Obligation, ...] = ()
    layers: Type | None = None
    starts: dict[str, Type] = field(default_factory=dict)
    beside: dict[Walk, Type] = field(default_factory=dict)
    sources: dict[Walk, Type] = field(default_factory=dict)
    effects: Mapping[str, Place | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    results: dict[str, Type] = field(default_factory=dict)
    ys: Sequence[tuple[str, ast.expr, Type]] = ()
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
    return replace(
        walker.result, obligations=walker.obligations, effects=walker.effects, notes=tuple(filter(None, walker.notes))
    )


class _LoopWalker(Walker):
    """Walks up to a loop in silence, and one iteration with obligations."""

    def __init__(
        self,
        project: ProjectFacts,
        loop: Loop,
        shape: LoopShape,
        made: Sequence[Definition | External | None],
        *,
        trees: bool,
    ) -> None:
        super().__init__(project)
        self.made = made
        self.trees = trees
        self.loop = loop
        self.shape = shape
        self.target = loop.node
        self.result = LoopObligations()
        self.collected = frozenset(each.name for each in self.shape.collections) | (
            {self.loop.appends_to} if self.loop.appends_to else frozenset()
        )
        self.types: dict[ast.expr, Type] = {}  # of expressions whose values are collected
        self.inside = False

    # -- up to the loop --------------------------------------------------------------------------------------------

    def begin(self) -> None:
        scopes = [scope for scope in self.loop.scope.chain() if isinstance(scope.node, (*FUNCTIONS, ast.Lambda))]
        module = self.loop.module
        with self.silent():
            if not scopes:
                self.run(module.tree.body, Env(module, facts=names_of(module.tree)), [])
            else:
                self._enter(scopes[-1])
        if self.result.layers is None:
            text = "the way to the loop is not understood"
            self.found[text, None] = Obligation(Kind.BODY, text, self.loop.place)

    def _enter(self, scope: Scope) -> None:
        """Walk a function with what its annotations declare of its parameters."""
        node, module = scope.node, self.loop.module
        assert isinstance(node, (*FUNCTIONS, ast.Lambda))
        owner = self._owner(scope)
        facts = names_of(node)
        env = Env(module, {}, None, owner, facts=replace(facts, several=facts.several | self._bound_in_loop()))
        plain = [*node.args.posonlyargs, *node.args.args]
        self._bind_parameters(node.args, env)
        if owner is not None and plain:
            this: Type = Object(owner)
            kinds = {getattr(each, "id", "") for each in getattr(node, "decorator_list", ())}
            if "classmethod" in kinds:
                this = ClassOf(owner)
            if "staticmethod" not in kinds:
                env.names[plain[0].arg] = this
                env = replace(env, this=this)
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

    def _owner(self, scope: Scope) -> Definition | None:
        parent = scope.parent
        if parent is None or not isinstance(parent.node, ast.ClassDef):
            return None
        meaning = self.index.resolve(self.loop.module, parent.node.name)
        if isinstance(meaning, Definition) and meaning.node is parent.node:
            return meaning
        return Definition(self.loop.module, parent.node.name, parent.node)

    def _bind_parameters(self, args: ast.arguments, env: Env) -> None:
        """Bind parameters by their annotations, and by defaults that are constants."""
        plain = [*args.posonlyargs, *args.args]
        defaults = [*[None] * (len(plain) - len(args.defaults)), *args.defaults, *args.kw_defaults]
        for arg, default in zip([*plain, *args.kwonlyargs], defaults, strict=True):
            found = self.declared_argument(env.module, arg)
            if isinstance(default, ast.Constant) and default.value is None:
                found = join([found, Nothing()])
            env.names[arg.arg] = Static() if isinstance(default, ast.Constant) and isinstance(found, Given) else found
        for each, kind in ((args.vararg, "tuple"), (args.kwarg, "dict")):
            if each is not None:
                env.names[each.arg] = Items(kind, None, Given(each.arg))

    def evaluate(self, node: ast.expr, env: Env) -> Type:
        if node is self.target:
            self.at_target(env)
        value = super().evaluate(node, env)
        if node in self.types and self.inside:
            self.types[node] = value
        return value

    def local_function(self, node: ast.FunctionDef, env: Env) -> Type:
        if not self.inside and self.result.layers is None and any(each is self.target for each in ast.walk(node)):
            self._enter_inner(node, env)
        return super().local_function(node, env)

    def _enter_inner(self, node: ast.FunctionDef, env: Env) -> None:
        """Walk a function in a function that holds the loop."""
        inner = replace(env, names={}, outer=env, own="", facts=names_of(node))
        self._bind_parameters(node.args, inner)
        self.run(node.body, inner, [])

    # -- one iteration ---------------------------------------------------------------------------------------------

    def at_target(self, env: Env) -> None:
        if not self.inside and self.result.layers is None:
            self._iteration(env)

    def _iteration(self, env: Env) -> None:
        self.inside = True
        muted, self.muted = self.muted, 0
        for name in _OF_CODE:
            if any(self.index.paths_with(name)):
                text = f"`{name}` of functions, which code of the project names, is not replaced"
                self.condition(self.loop.module, self.loop.node, text)
        several = self._bound_in_loop(times=2) - set(self.shape.carry)
        body = replace(env.copy(), facts=replace(env.facts, several=several))
        self.result.starts = {name: body.lookup(name) or Nothing() for name in self.shape.carry}
        if self.loop.start is not None:  # evaluated before the elements are, which it must not change
            self.result.starts[self.loop.carry or ""] = self.evaluate(self.loop.start, env)
        carries = {name: self._carried(name, start) for name, start in self.result.starts.items()}
        body.names.update(carries)
        for walk in self.loop.walks:
            self.bind(walk.target, self._walked(walk, env), body)
        if self.loop.index is not None:
            self.bind(self.loop.index.target, Static(), body)
        wanted = self._collected()
        self.types = {node: Unknown("no iteration reaches it") for _, node in wanted}
        for _ in range(2):
            again = body.copy()
            self.run(self.loop.body, again, [])
            if not self._changes(carries, again, body):
                break
        self.result.results = {name: again.names[name] for name in carries if name in again.names}
        self._keeps(carries, again)
        self.result.ys = [(name, node, self.types[node]) for name, node in wanted]
        self.muted = muted
        self.inside = False
        self.reached = True
        if self.result.layers is None:
            self.result.layers = Unknown("no layers")

    def _collected(self) -> list[tuple[str, ast.expr]]:
        """The expressions whose values an iteration collects, with the names of their collections."""
        found = [(name, node) for name, nodes in self.shape.collected.values.items() for node in nodes]
        return [*found, *([("", self.loop.element)] if self.loop.element is not None else ())]

    def _walked(self, walk: Walk, env: Env) -> Type:
        """The type of the element of a walk; of the layers of no known class one that may be called."""
        is_layers = walk is self.shape.layer
        with self.silent():
            bases = [self.evaluate(each, env) for each in walk.bases]
            source = (
                bases[0]
                if len(bases) == 1
                else Items("list", None, join(self._elements(each, env, walk) for each in bases))
            )
            if walk.element is not None:
                inner = env.copy()
                for target in ast.walk(self.loop.target):
                    if isinstance(target, ast.Name):
                        inner.names[target.id] = Static()
                found = self.evaluate(walk.element, inner)
                found = join([self.element(env.module, walk.base, source)]) if isinstance(found, Unknown) else found
            elif walk.via == "values" and isinstance(source, Items):
                found = source.element or Unknown("nothing shows its elements")
            else:
                found = self._elements(source, env, walk)
        self.result.sources[walk] = source
        if not is_layers:
            self.result.beside[walk] = found
            for option in (*options(found), *options(source)):
                if isinstance(option, Unknown):
                    self.note(env.module, walk.source, option.why)
                elif isinstance(option, Given) and option.returned:
                    self.note(env.module, walk.source, f"`{option.name}` may return an iterator; annotate it")
            return found
        self.result.layers = found
        if self.trees:
            return Array()
        every = options(without_none(found))
        shown = [each for each in every if not isinstance(each, Unknown)] if self._all_made() else every
        known = join([*shown, *self._made_too(found)])
        classes = [each.cls if isinstance(each, Object) else each for each in options(known)]
        if any(map(self.classes.is_nnx, classes)):
            known = self.result.layers = Unknown("a call may write to variables that other code holds")
        if any(not isinstance(each, Object | LibraryObject | Items | Function) for each in options(known)):
            self.result.opaque = True
            return LibraryObject(LAYER)
        return known

    def _all_made(self) -> bool:
        """True if the list is shown to hold layers of known classes."""
        return bool(self.made) and all(each is not None for each in self.made)

    def _made_too(self, found: Type) -> Iterator[Type]:
        """Layers of classes that the list is shown to hold, which its annotation does not name."""
        declared = [each.cls for each in options(found) if isinstance(each, Object)]
        for cls in self.made:
            if isinstance(cls, Definition):
                if not any(one.node is above.node for above in self.classes.lineage(cls) for one in declared):
                    yield Object(cls)
            elif isinstance(cls, External) and not any(
                isinstance(each, LibraryObject) and each.qualname == cls.qualname for each in options(found)
            ):
                yield LibraryObject(cls.qualname)

    def _elements(self, source: Type, env: Env, walk: Walk) -> Type:
        if isinstance(without_none(source), Given):
            return Array(certain=False)
        if isinstance(source, LibraryObject) and source.qualname.endswith(".Sequential"):
            inner = dict(source.arguments or ()).get(0)
            return inner.element or Nothing() if isinstance(inner, Items) else Unknown("its layers are not shown")
        return self.element(env.module, walk.base, source)

    def _carried(self, name: str, start: Type) -> Type:
        """The type of a carry: what a scan carries are arrays."""
        if isinstance(start, Static):
            text = f"`{name}` keeps its dtype, though it starts as a Python number"
            self.condition(self.loop.module, self.loop.node, text)
        found: list[Type] = []
        for option in options(start):
            match option:
                case Array(shape=shape, certain=certain):
                    found.append(Array(shape or name, None, certain))
                case Given(name=shape):
                    found.append(Array(shape, None, False))
                case Static() | Unknown():
                    found.append(Array(name, None, isinstance(option, Static)))
                case Items():
                    found.append(Items(option.kind, None, Array(), self.own))
                case _:
                    found.append(option)
        return join(found)

    def _changes(self, carries: dict[str, Type], after: Env, body: Env) -> bool:
        """Join the carries with what an iteration made of them; True if their types have changed."""
        changed = False
        for name in carries:
            value = after.names.get(name)
            joined = join([carries[name], value])
            if joined != body.names[name] and type(joined) is not type(body.names[name]):
                body.names[name] = joined
                changed = True
        return changed

    def _keeps(self, carries: dict[str, Type], after: Env) -> None:
        """The conditions under which a carry keeps its shape and dtype."""
        for name, before in carries.items():
            if name in self.shape.last or isinstance(self.result.starts.get(name), Nothing):
                continue
            value, start = after.names.get(name, Nothing()), self.result.starts.get(name, Nothing())
            for text in (
                *start_conditions(name, self.shape.starts.get(name, ()), start, value),
                *kept_conditions(name, start, before, value),
            ):
                self.condition(self.loop.module, self.loop.node, text)
