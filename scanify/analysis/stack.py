"""The stacking of a plan's layers: where their list is built, or in the call."""

from dataclasses import dataclass

from scanify.analysis.facts import Place


@dataclass(frozen=True)
class OneTrace:
    """One call that builds layers which differ only in random keys: `ArrayStacked.init(count, module)(*arguments)`.

    The constructor is traced once. `keys_alone`: only the keys have an entry per layer; other arguments may be arrays
    with a first axis of the same size.
    """

    count: str
    module: str
    arguments: tuple[str, ...]
    keys_alone: bool = False


@dataclass(frozen=True)
class Wrap:
    """Build the stack by wrapping the expression at `place` in `ArrayStacked.of(...)`.

    With `built`, one call that builds all layers replaces the expression if the container is an `ArrayStacked`.
    """

    place: Place
    built: OneTrace | None = None


@dataclass(frozen=True)
class After:
    """Build the stack by an assignment `target = ArrayStacked.of(target)` after the statement that ends at `place`.

    Used for lists filled by `self.layers.append(...)`. `place.span` covers the whole lines of the statement (the append
    loop); `indent` is its indentation.
    """

    place: Place
    target: str
    indent: str


@dataclass(frozen=True)
class Annotation:
    """An annotation of the list that must become `ArrayStacked[element]` (`ArrayStacked` if `element` is None)."""

    place: Place
    element: str | None


@dataclass(frozen=True)
class InitStack:
    """The list is stacked where it is built: `--stack init`."""

    sites: tuple[Wrap | After, ...]
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True)
class CallStack:
    """The list stays a list and is stacked inside the call: `--stack call`.

    `at` is the use that requires a list, if there is one, and `rule` the rule whose page covers such uses.
    """

    reason: str = ""
    at: Place | None = None
    rule: str = ""

    @property
    def kept(self) -> str | None:
        """A note about the use that keeps the list a list; None if there is no such use."""
        if self.at is None:
            return None
        rule = f", {self.rule}" if self.rule else ""
        return f"the list is kept and stacked in each call, as {self.reason} ({self.at}{rule})"
