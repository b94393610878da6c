"""The typed, target-independent description of one rewrite, or of the reason why there is none.

A plan guesses nothing: axes are read off the source (`zip(layers, keys)`), never inferred from shapes. Emitters read
plans; they use the source only for the text of spans.
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

BEYOND_THE_TARGET = "SCN217"  # for loops that a target cannot express, which are refused after the analysis


class Kind(Enum):
    """The kind of a loop: a carry alone, a carry and ys, independent layers, or layers that are only partly alike."""

    FOLD = "fold"
    SCAN = "scan"
    MAP = "map"
    GROUP = "group"


class Holds(Enum):
    """The container for the layers, by its name in `scanify.nn`.

    `ArrayStacked` if the source shows that the layers differ only in arrays, else `BlockSeq`, which compares the actual
    layers and applies each as the loop does.
    """

    ARRAY_STACKED = "ArrayStacked"
    BLOCK_SEQ = "BlockSeq"


class Framework(Enum):
    """The library that the layers are modules of, as named in messages. Equinox if the source shows no class."""

    EQUINOX = "Equinox"
    NNX = "Flax NNX"
    LINEN = "Flax Linen"


@dataclass(frozen=True)
class PerLayer:
    """One xs: an expression that the loop iterates over alongside the layers, and the target of its elements.

    `for layer, k in zip(self.layers, keys)` gives `PerLayer(target="k", source="keys", axis=0)`.
    `target` may be a tuple pattern as written, such as `(a, b)`. `layers`: the elements are modules, too. `array`: the
    source is shown to be a single array.
    """

    target: str
    source: str
    axis: int = 0
    layers: bool = False
    array: bool = False


class Adds(Enum):
    """How collected values are added after the loop.

    LIST and TUPLE: as elements, in order. DICT: as entries of a dict, in order.
    """

    LIST = "list"
    TUPLE = "tuple"
    DICT = "dict"


@dataclass(frozen=True)
class Collection:
    """A local list, tuple or dict that the body adds to in each iteration and that nothing reads before the loop ends.

    `surely`: it cannot be None when the loop starts. If it may be, nothing is added in that case.
    """

    name: str
    adds: Adds
    surely: bool = True


@dataclass(frozen=True)
class Argument:
    """An argument of the layer's call after the carry, as written; `axis` is None if all layers share it."""

    text: str
    keyword: str | None = None
    axis: int | None = None


@dataclass(frozen=True)
class LayerCall:
    """A body that is exactly `carry = layer.method(carry, *arguments)`.

    `owner` is a name in scope at the loop for the exact class of every layer; None if the source does not show it.
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
    """The expression that is computed for each of several independent layers, as written.

    `appends_to` is the list that a `for` statement appends it to; None for a comprehension.
    """

    element: str
    appends_to: str | None = None


@dataclass(frozen=True)
class Bodies:
    """Whether one body can be applied to all layers; `several` says why not if the source shows that.

    If the source shows neither, `unlike` says why layers may need different bodies, and `doubts` are conditions on the
    carries. If one does not hold, tracing raises an error.
    """

    several: str | None = None
    unlike: str | None = None
    doubts: tuple[str, ...] = ()

    @property
    def one(self) -> bool:
        """True if one body is shown to fit all layers."""
        return self.several is None and self.unlike is None and not self.doubts


@dataclass(frozen=True)
class Plan:
    """One loop that can be rewritten.

    `carry`, `xs`, `broadcast` and `ys` are names in the source; `collections` says how the ys are added up, each to one
    of those names. `taken` are the names that a new local name must avoid (the function's and the module's).
    `obligations` are conditions that the source alone could not show: if there are any, the fix is unsafe. `notes` are
    facts that the user should know and that do not make the fix unsafe. `readers` are the places that read the tree of
    parameters: a single obligation covers all of them, or the list is kept for them.
    `mapped` is set for loops that are expressions, or that only append; `body` is then the place of the whole loop.
    `linen` is the module that replaces layers of Flax Linen.
    `numbers` is an expression for the numbers of the applied layers, unless all are applied in order; with `reverse`
    all are applied from the last one. `replaced` are stretches of the loop that have other texts in the function for
    one layer. `trees`: the layers are trees of arrays instead of modules.
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
        """The names of the layers in the tree of variables, if a rewrite changes them."""
        return self.linen.renamed if self.linen is not None else None

    @property
    def ends_early(self) -> bool:
        """True if the loop may end before its last layer, so that no further layer is applied."""
        return bool(self.exits - {"continue"})

    @property
    def safe(self) -> bool:
        """True if any remaining mistake would be an error at trace time."""
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
        """Return the obligations that no case can discharge, without the kinds that the user accepts."""
        return self._of(*(each for each in BEYOND_CASES if each.value not in accepted))

    def left(self, accepted: Set[str]) -> tuple[Obligation, ...]:
        """Return the obligations without the kinds that the user accepts."""
        beyond = self.beyond_cases(accepted)
        taken = self.obligations if UNSAFE in accepted else self.beyond_cases()
        return tuple(each for each in self.obligations if each in beyond or each not in taken)

    def _of(self, *kinds: Shows) -> tuple[Obligation, ...]:
        return tuple(each for each in self.obligations if each.kind in kinds)


@dataclass(frozen=True)
class Refusal:
    """One loop over modules that is not rewritten, with the rule and the reason for this loop.

    `at` is the place that the reason is about, such as a statement of the body; None if it is the loop. `undecided` is
    the plan for layers that the source leaves open: it pays if a case shows that some of them are alike.
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
        """True if evidence may decide about the loop, which is then no finding: nothing shows that a rewrite pays."""
        return self.undecided is not None


@dataclass(frozen=True)
class Remark:
    """Code that probably mishandles stacked layers: it reads leaves that hold several layers, or scans them wrongly.

    `remedy` says what to write instead; `at` is the place that the reason is about.
    """

    place: Place
    rule: str
    reason: str
    remedy: str = ""
    at: Place | None = None


@dataclass(frozen=True)
class Skipped:
    """A file that was not read, and why. `fails`: the file should have been readable, so this is a finding."""

    path: Path
    reason: str
    fails: bool = True


@dataclass(frozen=True)
class Analysis:
    """The result for a set of files: one verdict per loop, in order of path and line.

    `remarks` are about existing stacks and scans, if they were requested. `in_call` decides about the same loops if
    every list stays and is stacked in the call. `undecided` counts omitted loops whose layers the source leaves open.
    """

    files: int
    loops: tuple[Plan | Refusal, ...] = ()
    skipped: tuple[Skipped, ...] = field(default=())
    remarks: tuple[Remark, ...] = ()
    in_call: Callable[[], tuple[Plan | Refusal, ...]] | None = field(default=None, compare=False, repr=False)
    undecided: int = 0

    def without_undecided(self, but: Set[Place] = frozenset()) -> "Analysis":
        """Return the analysis without the loops that the source leaves open, except those at the places `but`."""
        loops = tuple(each for each in self.loops if isinstance(each, Plan) or not each.open or each.place in but)
        return replace(self, loops=loops, undecided=self.undecided + len(self.loops) - len(loops))

    @property
    def failed(self) -> bool:
        """True if a file was skipped that should have been readable."""
        return any(each.fails for each in self.skipped)
