"""Where and how the layers of a plan are stacked: where the list is built, or in the call."""

from dataclasses import dataclass

from scanify.analysis.facts import Place


@dataclass(frozen=True)
class OneTrace:
    """A list of layers that differ in their random keys alone, as one call of their class, which is traced once:
    `ArrayStacked.init(count, module)(*arguments)`.

    `keys_alone` says that other arguments may be arrays, whose shapes could be taken for those of entries per layer.
    """

    count: str
    module: str
    arguments: tuple[str, ...]
    keys_alone: bool = False


@dataclass(frozen=True)
class Wrap:
    """Build the stack by wrapping the expression at `place` in `ArrayStacked.of(...)`.

    With `built` one call builds all layers in the place of the expression, where they are to be an `ArrayStacked`.
    """

    place: Place
    built: OneTrace | None = None


@dataclass(frozen=True)
class After:
    """Build the stack by an assignment `target = ArrayStacked.of(target)` after the statement that ends at `place`.

    For lists filled by `self.layers.append(...)`. `place.span` is the whole statement (the append loop), whole lines;
    `indent` is its indentation.
    """

    place: Place
    target: str
    indent: str


@dataclass(frozen=True)
class Annotation:
    """An annotation of the list that must become `ArrayStacked[element]` (`ArrayStacked` where element is None)."""

    place: Place
    element: str | None


@dataclass(frozen=True)
class InitStack:
    """The list is built stacked where it is built: `--stack init`."""

    sites: tuple[Wrap | After, ...]
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True)
class CallStack:
    """The list stays as it is and is stacked inside the call: `--stack call`.

    `at` is the use of the list that asks for it, where one does, and `rule` the rule whose page is about such a use, if
    one is.
    """

    reason: str = ""
    at: Place | None = None
    rule: str = ""

    @property
    def kept(self) -> str | None:
        """Which use keeps the list a list, in words."""
        if self.at is None:
            return None
        rule = f", {self.rule}" if self.rule else ""
        return f"the list is kept and stacked in each call, as {self.reason} ({self.at}{rule})"
