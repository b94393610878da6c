"""The typed, target-independent statement of one rewrite, or of the reason why there is none.

A plan guesses nothing: an axis comes from where a value comes from in the source (`zip(layers, keys)`), never from
a shape. Emitters read plans; they do not look at the source again, except for the texts that spans point to.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from scanify.analysis.facts import Place, Replacement, Span
from scanify.analysis.linen_layers import LinenLayers, RenamedLayers
from scanify.analysis.obligation import BEYOND_CASES, UNSAFE, Obligation
from scanify.analysis.obligation import Kind as Shows
from scanify.analysis.readers import Reader
from scanify.analysis.stack import CallStack, InitStack

BEYOND_THE_TARGET = "SCN217"  # of a loop that a target cannot express, which is refused after the analysis


class Kind(Enum):
    """What a loop is, as a transformation: carry only, carry and ys, independent layers, equal only in parts."""

    FOLD = "fold"
    SCAN = "scan"
    MAP = "map"
    GROUP = "group"


class Holds(Enum):
    """The container that is to hold the layers, by its name in `scanify.nn`.

    `ArrayStacked` where the source shows that the layers differ only in arrays, `BlockSeq` where it does not: that one
    looks at the actual layers and applies each as the loop does.
    """

    ARRAY_STACKED = "ArrayStacked"
    BLOCK_SEQ = "BlockSeq"


class Framework(Enum):
    """What the layers are modules of, as a sentence names it. Where the source shows no class, Equinox is taken."""

    EQUINOX = "Equinox"
    NNX = "Flax NNX"
    LINEN = "Flax Linen"


@dataclass(frozen=True)
class PerLayer:
    """One xs: the expression that the loop walks beside the layers, and the target its elements are bound to.

    `for layer, k in zip(self.layers, keys)` gives `PerLayer(target="k", source="keys", axis=0)`.
    `target` may be a tuple pattern as written, such as `(a, b)`. `layers` says that the elements are modules, too,
    `array` that the source is shown to be one array.
    """

    target: str
    source: str
    axis: int = 0
    layers: bool = False
    array: bool = False


class Adds(Enum):
    """How what one layer collects is added to the rest after the loop.

    LIST and TUPLE: the elements, in order. DICT: to a dict, in order.
    """

    LIST = "list"
    TUPLE = "tuple"
    DICT = "dict"


@dataclass(frozen=True)
class Collection:
    """A local list, tuple or dict that the body adds to in every turn and that nothing reads before the loop's end.

    `surely` says that it is one when the loop begins; where it may be None, nothing is added then.
    """

    name: str
    adds: Adds
    surely: bool = True


@dataclass(frozen=True)
class Argument:
    """An argument of the layer's call after the carry, as written; `axis` is None where all layers share it."""

    text: str
    keyword: str | None = None
    axis: int | None = None


@dataclass(frozen=True)
class LayerCall:
    """A body that is exactly `carry = layer.method(carry, *arguments)`.

    `owner` is a name, in scope at the loop, of the exact class of every layer; None where the source does not show it.
    """

    method: str
    owner: str | None
    arguments: tuple[Argument, ...] = ()


@dataclass(frozen=True)
class Body:
    """The text of the loop's body.

    `span` covers whole lines, from the first statement's (or leading comment's) line to the end of the last
    statement's line, newline included; for a body on the line of the `for` itself it covers just the statements.
    `indent` is the indentation text of the body's lines, "" on the line of the `for`.
    """

    span: Span
    indent: str = ""


@dataclass(frozen=True)
class Mapped:
    """What makes independent layers of a plan: the text of a comprehension's element, as written.

    `appends_to` is the list that a `for` statement appends it to, None for a comprehension.
    """

    element: str
    appends_to: str | None = None


@dataclass(frozen=True)
class Bodies:
    """Whether one body can be applied to all layers: `several` says why not, where the source shows it.

    Where it shows neither, `unlike` says why layers may need other ones, and `doubts` what must hold of the carries. To
    find it otherwise is an error when the program is traced.
    """

    several: str | None = None
    unlike: str | None = None
    doubts: tuple[str, ...] = ()

    @property
    def one(self) -> bool:
        """Whether one body is shown to fit all layers."""
        return self.several is None and self.unlike is None and not self.doubts


@dataclass(frozen=True)
class Plan:
    """One loop that can be rewritten.

    `carry`, `xs`, `broadcast` and `ys` are names in the source; `collections` says how the ys are added up, each to one
    of those names. `taken` are the names that a new local name must not be (the function's and the module's).
    `obligations` are what the source alone could not show: while there are any, the fix is unsafe. `notes` are facts
    that the user should know and that do not make the fix unsafe. `readers` are the places of code that reads the tree
    of parameters, all of which one of the obligations is about; of a list that is kept for them, its reason.
    `mapped` is of loops that are expressions, or only append: then `body` is where they stand.
    `linen` is what becomes of the layers where they are modules of Flax Linen.
    `numbers` is an expression for the numbers of the layers that are applied, where those are not all in their order;
    `reverse` says that all are, from the last one. `replaced` are stretches of the loop that stand in a function of one
    layer as other texts. `trees` says that the layers are no modules but trees of arrays.
    """

    place: Place
    kind: Kind
    container: str
    layer: str
    carry: tuple[str, ...]
    body: Body
    stack: InitStack | CallStack
    xs: tuple[PerLayer, ...] = ()
    broadcast: tuple[str, ...] = ()
    ys: tuple[str, ...] = ()
    call: LayerCall | None = None
    taken: frozenset[str] = frozenset()
    obligations: tuple[Obligation, ...] = ()
    readers: tuple[Reader, ...] = ()
    notes: tuple[str, ...] = ()
    rule: str = "SCN101"
    holds: Holds = Holds.ARRAY_STACKED
    mapped: Mapped | None = None
    collections: tuple[Collection, ...] = ()
    unset: tuple[str, ...] = ()
    numbers: str | None = None
    reverse: bool = False
    replaced: tuple[Replacement, ...] = ()
    exits: frozenset[str] = frozenset()
    bodies: Bodies = Bodies()
    equal_layers: bool = True
    trees: bool = False
    framework: Framework = Framework.EQUINOX
    linen: LinenLayers | None = None

    @property
    def renamed(self) -> RenamedLayers | None:
        """How a rewrite names the layers in the tree of variables, where it changes their names."""
        return self.linen.renamed if self.linen is not None else None

    @property
    def ends_early(self) -> bool:
        """Whether the loop may end before its last layer, so that no further one is applied."""
        return bool(self.exits - {"continue"})

    @property
    def safe(self) -> bool:
        """Whether what could still go wrong would be a loud error at trace time."""
        return not self.obligations

    @property
    def elsewhere(self) -> tuple[Obligation, ...]:
        """The obligations about other code that reads the tree of parameters or uses the list."""
        return self._of(Shows.ELSEWHERE)

    @property
    def cost(self) -> tuple[Obligation, ...]:
        """The obligations about time."""
        return self._of(Shows.COST)

    def beyond_cases(self, accepted: Set[str] = frozenset()) -> tuple[Obligation, ...]:
        """The obligations that no case shows, without the kinds that the user accepts."""
        return self._of(*(each for each in BEYOND_CASES if each.value not in accepted))

    def left(self, accepted: Set[str]) -> tuple[Obligation, ...]:
        """The obligations without the kinds that the user accepts."""
        beyond = self.beyond_cases(accepted)
        taken = self.obligations if UNSAFE in accepted else self.beyond_cases()
        return tuple(each for each in self.obligations if each in beyond or each not in taken)

    def _of(self, *kinds: Shows) -> tuple[Obligation, ...]:
        return tuple(each for each in self.obligations if each.kind in kinds)


@dataclass(frozen=True)
class Refusal:
    """One loop over modules that is left as it is: the rule that says so, and the reason in words for this loop.

    `at` is the place the reason points to, such as a statement of the body; None if that is the loop. `undecided` is
    the plan for layers that the source leaves open: it is worth it if a case shows that some of them are alike.
    """

    place: Place
    rule: str
    reason: str
    kind: Kind
    container: str
    carry: tuple[str, ...] = ()
    xs: tuple[PerLayer, ...] = ()
    broadcast: tuple[str, ...] = ()
    ys: tuple[str, ...] = ()
    at: Place | None = None
    remedy: str = ""
    undecided: "Plan | None" = None

    @property
    def open(self) -> bool:
        """Whether evidence may decide about the loop: no finding then, as nothing shows that it is worth a rewrite."""
        return self.undecided is not None


@dataclass(frozen=True)
class Remark:
    """A place that does with stacked layers what it hardly means: code that looks at leaves which hold several layers,
    or a scan that is no loop over them. `remedy` says what to write, `at` is the place that the reason speaks of.
    """

    place: Place
    rule: str
    reason: str
    remedy: str = ""
    at: Place | None = None


@dataclass(frozen=True)
class Skipped:
    """A file that was not read, and why. `fails`: whether that is a finding, and not just how it is."""

    path: Path
    reason: str
    fails: bool = True


@dataclass(frozen=True)
class Analysis:
    """What analysing a set of files gives: one verdict a loop, in order of path and line; and remarks on stacks and
    scans that are there already, where they were asked for. `in_call` decides about the same loops if every list stays
    and is stacked in the call. `undecided` counts loops that are left out, as the source leaves their layers open."""

    files: int
    loops: tuple[Plan | Refusal, ...] = ()
    skipped: tuple[Skipped, ...] = field(default=())
    remarks: tuple[Remark, ...] = ()
    in_call: Callable[[], tuple[Plan | Refusal, ...]] | None = field(default=None, compare=False, repr=False)
    undecided: int = 0

    def without_undecided(self, but: Set[Place] = frozenset()) -> "Analysis":
        """The same without the loops that the source leaves open, but those at some places."""
        loops = tuple(each for each in self.loops if isinstance(each, Plan) or not each.open or each.place in but)
        return replace(self, loops=loops, undecided=self.undecided + len(self.loops) - len(loops))

    @property
    def failed(self) -> bool:
        """Whether a file is skipped that should not have to be."""
        return any(each.fails for each in self.skipped)
