"""The interpreter: one run over the code of a project, with its clock, its budget and what it notes on the way."""

import ast
import bisect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition, External, Package
from scanify.analysis.index.module import Module
from scanify.analysis.index.project import Index
from scanify.analysis.values.classes import Classes
from scanify.analysis.values.domain import MANY, Array, Class, Function, Instance, Key, Library, Unknown, Value
from scanify.analysis.values.heap import Cell, Does, ListCell, Use
from scanify.analysis.values.marks import Mark, Marks, Vary
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.asked import Answers
from scanify.analysis.values.run.before import from_before
from scanify.analysis.values.run.changes import Changes
from scanify.analysis.values.run.churned import Churned
from scanify.analysis.values.run.effects import Act, Effect
from scanify.analysis.values.run.environment import Env

if TYPE_CHECKING:
    from scanify.analysis.values.calls.functions.again import Done
    from scanify.analysis.values.run.probe import Probe

MAX_DEPTH = 16  # calls inside of calls
MAX_STEPS = 40_000  # nodes that one question may visit
# What all questions about a project may visit before they get shorter, what each may visit then, and the part of what
# is left that one may take: the largest packages take half of it.
MOST_STEPS, LEAST_STEPS, _PART = 800_000, 400, 10
CARRIED = "what goes from layer to layer"
GUESSED = "an attribute of an object of unknown class"


@dataclass(frozen=True)
class Region:
    """A loop or a branch that the run is in: `clock` is when it was entered, `count` how often a loop runs.

    `turn` is when the iteration began that is run.
    """

    loop: int
    clock: int
    count: int | None = None
    turn: int = 0

    @property
    def is_loop(self) -> bool:
        """Whether it is a loop, and no branch."""
        return self.loop > 0


@dataclass(frozen=True, eq=False)
class Stored:
    """An assignment of an object of the heap: `value` is the expression, `target` what it is assigned to.

    `owner` is the class of the object whose attribute it is, where it is one of `self`.
    """

    statement: ast.stmt
    target: ast.expr
    value: ast.expr
    module: Module
    function: ast.AST | None
    owner: Definition | None
    attribute: str | None
    clock: int
    building: bool


@dataclass(frozen=True, eq=False)
class Made:
    """An object that a call of its class makes, with the function that calls it and the class that this is in."""

    instance: Instance
    owner: Definition | None
    function: ast.AST | None


@dataclass(frozen=True, eq=False)
class Handed:
    """What a field may hold: `values` by the class itself, its heirs and those who call their constructors.

    `by_callers` says that some are handed in by code outside of the class, so that the list is not the class's own.
    """

    values: tuple[Value, ...]
    by_callers: bool = False


class Interpreter:
    """Runs functions of one project over abstract values.

    `effects` are those of what runs now. `clock` counts allocations and calls, so that what is made during a call has
    a higher number than the call. `regions` are the loops and branches around. `probes` are the nodes at which the
    names are noted.
    """

    def __init__(self, index: Index, classes: Classes | None = None, *, shallow: bool = False) -> None:
        self.index = index
        self.classes = classes if classes is not None else Classes(index)
        self.shallow = shallow  # whether functions that are called are taken at what they declare, and not run
        self.clock = 0
        self.effects: list[Effect] = []
        self.regions: list[Region] = []
        self.probes: dict[ast.AST, Probe] = {}
        self.probed: set[ast.AST] = set()
        self.calling: list[ast.AST] = []
        self.opened: list[ast.AST] = []  # the definitions of names for types that are being read
        self.generating: list[ListCell] = []  # what the generators that run have yielded, the innermost last
        self.steps = 0
        self.visited = 0  # by all questions that have ended
        self.unfollowed: dict[ast.AST, None] = {}  # functions and statements of which the end was not reached
        self._allowed = MAX_STEPS
        self.replacing: str | None = None
        self.coarse = False  # whether only effects are asked for, so that calls need not be told apart by numbers
        self.building = 0  # when the outermost constructor that runs was called
        self.guesses: dict[str, Value] = {}
        self.unguessed: dict[str, set[Place]] = {}  # where an attribute was asked for before there was a guess at it
        self.executed: set[ast.AST] = set()
        self.capped: dict[str, None] = {}  # what is followed so far and no further
        self.passed: set[object] = set()  # arguments that code passes to functions of arrays
        self.constructed: dict[ast.AST, list[Made]] = {}
        self.typed: set[object] = set()  # classes of which objects were asked for theirs, which code may call
        self.handed: dict[tuple[ast.AST, str], Handed] = {}  # by the class and the name of a field that callers give
        # Uses of instances after they were made that need the object itself, by the identity of its fields.
        self.touched: dict[int, Use] = {}
        self._kept: list[dict[str, Value]] = []
        self.touched_at: dict[ast.AST, Use] = {}  # the same by the calls that make them
        self.replaced: dict[tuple[ast.AST, str], Use] = {}  # by the class and name of a field stored to from outside
        self.replaced_by_name: dict[str, Use] = {}  # by the name alone: fields of objects of unknown class
        self.asked_for: set[str] = set()  # functions whose callers say what they do with lists
        self.unpacking: ast.AST | None = None
        self.stores: dict[ast.AST, dict[ast.expr, Stored]] = {}
        self.closures: list[Function] = []
        self.inner_classes: dict[ast.AST, tuple[Definition, Env]] = {}  # that functions define, with the names around
        self.models: dict[ast.AST, Value] = {}
        self.memo: dict[object, Done] = {}
        self.asked: Answers = {}  # what the innermost call asks beyond its arguments
        self.changes = Changes()
        self.cut = sys.maxsize  # where in `calling` the outermost function stands that a call inside of it called again
        self.churned = Churned(self)
        self.scanned: set[int] = set()  # the identities of the fields of layers of which a scan makes tracers
        self.surveyed = 0  # how often code asked which loops it stands in
        self.depending: set[ast.AST] = set()  # functions that give another thing in each loop that they are called in
        self._module_envs: dict[object, Env] = {}
        self._globals: dict[tuple[object, str], Value] = {}
        self.lasting: dict[ast.AST, Value] = {}  # defaults and constants of classes that code may change
        self.loops = 0  # how many loops were entered
        self._windows: list[tuple[int, int]] = []
        self.loop_clocks: dict[int, int] = {}
        self.usual: dict[ast.AST, tuple[object, ...]] = {}  # the defaults of lists of the caller, by their elements
        self.loop_lengths: dict[int, Marks] = {}  # how the number of its iterations differs between those of others

    # -- the clock and the budget ------------------------------------------------------------------------------------
    def tick(self) -> int:
        """The next moment."""
        self.clock += 1
        return self.clock

    def new_loop(self) -> int:
        """The number of a loop that is entered."""
        self.loops += 1
        self.loop_clocks[self.loops] = self.tick()
        return self.loops

    @property
    def exhausted(self) -> bool:
        """Whether the present question has taken too long: what is left is unknown."""
        return self.steps > self._allowed

    def cut_short(self, statement: ast.AST) -> None:
        """Keep in mind what is not run to its end: the functions that run, or a statement that no function has."""
        self.unfollowed.update(dict.fromkeys(self.calling or [statement]))

    @contextmanager
    def question(self) -> Iterator[None]:
        """A question of its own, with a new budget."""
        before, self.steps = self.steps, 0
        regions, self.regions = self.regions, []
        calling, self.calling = self.calling, []
        building, self.building = self.building, 0
        cut, self.cut = self.cut, sys.maxsize
        allowed, self._allowed = self._allowed, max(LEAST_STEPS, min(MAX_STEPS, (MOST_STEPS - self.visited) // _PART))
        try:
            yield
        finally:
            self.visited, self._allowed = self.visited + self.steps, allowed
            self.steps, self.regions, self.calling, self.building = before, regions, calling, building
            self.cut = cut

    @contextmanager
    def for_effects(self) -> Iterator[None]:
        """Ask for effects alone."""
        before, self.coarse = self.coarse, True
        try:
            yield
        finally:
            self.coarse = before

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """What is made inside was there before: values of a file's names, of defaults, of any instance of a class."""
        start = self.tick()
        try:
            yield
        finally:
            while self._windows and self._windows[-1][0] >= start:
                self._windows.pop()  # those inside of this one
            self._windows.append((start, self.tick()))

    def is_fresh(self, born: int, since: int) -> bool:
        """Whether an object was made after a moment, by the code that runs."""
        if born < since:
            return False
        at = bisect.bisect_left(self._windows, born, key=lambda window: window[1])
        return at == len(self._windows) or self._windows[at][0] > born

    @contextmanager
    def recording(self) -> Iterator[list[Effect]]:
        """Collect the effects of what runs inside, apart from those of what runs around."""
        before, self.effects = self.effects, []
        try:
            yield self.effects
        finally:
            self.effects = before

    @contextmanager
    def region(self, loop: int = 0, count: int | None = None) -> Iterator[None]:
        """A loop (with its number) or a branch."""
        self.regions.append(Region(loop, self.clock, count, self.clock))
        try:
            yield
        finally:
            self.regions.pop()

    def next_turn(self) -> None:
        """Begin another iteration of the innermost loop."""
        self.regions[-1] = replace(self.regions[-1], turn=self.tick())

    @property
    def turn(self) -> int:
        """When the iteration of the innermost loop around began that is run; 0 where there is none."""
        return next((region.turn for region in reversed(self.regions) if region.is_loop), 0)

    @property
    def around(self) -> tuple[int, ...]:
        """The numbers of the loops that the code stands in."""
        return tuple(region.loop for region in self.regions if region.is_loop)

    # -- notes ---------------------------------------------------------------------------------------------------------

    def effect(
        self,
        act: Act,
        what: str,
        node: ast.AST,
        env: Env,
        *,
        born: int = 0,
        root: ast.AST | None = None,
        marks: Marks = (),
        owner: Value | None = None,
        argument: object = None,
    ) -> None:
        """Note an effect of the code that runs in `env`; `owner` is what a write changes, if it is no known object."""
        guess = isinstance(owner, Unknown) and owner.born > 0
        born = owner.born if isinstance(owner, Unknown | Array) else born
        branch = any(not region.is_loop for region in self.regions)
        kept = Effect(act, what, node, env.module, "", born, root, marks, guess, branch, argument=argument)
        self.effects.append(kept if owner is None else replace(kept, holder=holder_of(owner)))

    def use(self, cell: Cell, does: Does, node: ast.AST, env: Env, what: str = "") -> None:
        """Note a use of an object of the heap. A shallow run notes none: sites are shared with the run for good."""
        if self.shallow:
            return
        if self.replacing is not None and does in (Does.INDEX, Does.SLICE, Does.WALK, Does.ATTRIBUTE):
            does, what = Does.REPLACE, self.replacing
        building = 0 < self.building <= cell.born
        making = cell.function is not None and cell.function is env.function and 0 < env.call <= cell.born
        if not cell.site.is_new(node, does, building, making):
            self.tick()
            return
        cell.site.use(Use(does, node, env.place(node), env.function, what, self.tick(), building, making=making))

    def ambient(self, via: str) -> Marks:
        """The marks of a value that is another one whenever it is asked for: it differs in each loop around."""
        self.surveyed += 1
        return tuple(Mark(region.loop, Vary.OTHER, via) for region in self.regions if region.is_loop)

    def use_of(self, instance: Instance, does: Does, node: ast.AST, env: Env, what: str = "") -> None:
        """Note a use of an object that is no list and is used as one: a `Sequential`."""
        if self.shallow:
            return
        if isinstance(instance.cls, Library) and instance.name.endswith(".Sequential") and instance.node is not None:
            if self.replacing is not None and does in (Does.INDEX, Does.ATTRIBUTE):
                does, what = Does.REPLACE, self.replacing
            elif instance.origin == GUESSED:
                Cell(instance.node, env.module, 0).site.use(
                    Use(does, node, env.place(node), env.function, what, self.tick(), guessed=True)
                )
                return
            self.use(Cell(instance.node, env.module, instance.born), does, node, env, what)

    def touch(self, instance: Instance, does: Does, node: ast.AST, env: Env) -> None:
        """Note a use of an instance that needs the very object: what writes into it, or asks which one it is."""
        use = Use(does, node, env.place(node), env.function, env.code(node))
        if id(instance.fields) not in self.touched:
            self._kept.append(instance.fields)  # as long as it lives no other object has its identity
        self.touched.setdefault(id(instance.fields), use)
        if instance.node is not None:
            self.touched_at.setdefault(instance.node, use)

    def replace(self, owner: Value, name: str, node: ast.AST, env: Env) -> None:
        """Note that a field of an object is given another value from outside of its class."""
        use = Use(Does.CHANGE, node, env.place(node), env.function, env.code(node))
        if isinstance(owner, Instance) and not isinstance(owner.cls, Library):
            self.replaced.setdefault((owner.cls.node, name), use)
        elif isinstance(owner, Unknown):
            self.replaced_by_name.setdefault(name, use)

    def loops_since(self, born: int) -> tuple[Region, ...]:
        """The loops around that were entered after a moment."""
        return tuple(region for region in self.regions if region.is_loop and region.clock >= born)

    def conditional_since(self, born: int) -> bool:
        """Whether the code runs under a condition that was entered after a moment, inside of the innermost loop."""
        inner = max([born, *(region.clock for region in self.loops_since(born))])
        return any(not region.is_loop and region.clock >= inner for region in self.regions)

    # -- names of modules ----------------------------------------------------------------------------------------------

    def module_env(self, module: Module) -> Env:
        """The names at the top level of a file, which are looked up when they are asked for."""
        if module.path not in self._module_envs:
            self._module_envs[module.path] = Env(module)
        return self._module_envs[module.path]

    def global_value(self, module: Module, name: str) -> Value:
        """What a (dotted) name at the top level of a file stands for."""
        key = (module.path, name)
        if key not in self._globals:
            self._globals[key] = Unknown(f"`{name}` is defined in terms of itself")
            self._globals[key] = self._resolved(module, name)
        return self._globals[key]

    def _resolved(self, module: Module, name: str) -> Value:
        from scanify.analysis.values.code.annotations import key_name

        meaning = self.index.resolve(module, name)
        if isinstance(meaning, External):
            return Library(meaning.qualname)
        if isinstance(meaning, Package):
            return Unknown(f"`{name}` is a module")
        if isinstance(meaning, Definition):
            return self.defined(meaning)
        root, _, rest = name.partition(".")
        if rest and isinstance(self.index.resolve(module, root), Definition):
            return Unknown(f"what `{name}` holds is not shown")
        if root not in module.definitions and key_name(root) and not rest:
            return Key(many=root.endswith("s"))  # a name that nothing here binds
        bound = root in module.rebound or root in module.definitions or root in module.imports
        return Unknown(f"`{root}` is assigned in several places" if bound else f"`{root}` is not defined in the file")

    def defined(self, definition: Definition) -> Value:
        """What a name that one statement of a file binds stands for."""
        from scanify.analysis.values.code.statements import assigned_value

        node = definition.node
        env = self.module_env(definition.module)
        if isinstance(node, ast.ClassDef):
            return Class(definition)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return Function(node, env)
        with self.question(), self.recording(), self.elsewhere():
            return from_before(assigned_value(self, env, node, definition.name))

    def class_value(self, cls: Definition | Library) -> Value:
        """A class as a value."""
        return Class(cls) if isinstance(cls, Definition) else cls


def holder_of(value: Value) -> object:
    """What tells an object from others: its fields, or of one that is not shown why it is not.

    What has attributes that are set is no array, though it may be taken for one. One of many objects is known by what
    goes from layer to layer, where that is one of them.
    """
    if isinstance(value, Instance):
        return id(value.fields)
    if isinstance(value, Array):
        return "an array"
    if isinstance(value, Unknown) and value.why == MANY:
        return CARRIED if any(mark.how is Vary.CARRY for mark in value.marks) else None
    return value.why if isinstance(value, Unknown) and not value.part else None
