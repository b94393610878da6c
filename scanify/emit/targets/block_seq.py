"""A `BlockSeq` of haliax as a `Stacked`: the name of the class, where it is built and where it is declared."""

from pathlib import Path

from scanify.analysis.plan import Plan
from scanify.analysis.stack import InitStack, Named
from scanify.emit.edits import Edit
from scanify.emit.names.imports import Import
from scanify.emit.target import Context

STACKED = Import("haliax.nn", "Stacked")


def is_block_seq(plan: Plan) -> bool:
    """Whether a plan is of a `BlockSeq`, and of no loop."""
    return any(isinstance(site, Named) for site in plan.stack.sites) if isinstance(plan.stack, InitStack) else False


def needed(plan: Plan) -> frozenset[tuple[Path, Import]]:
    """The class, in files that name the other one alone: `hax.nn.BlockSeq` has it at hand."""
    return frozenset((path, STACKED) for path, _, _, text in _named(plan) if "." not in text)


def edits(plan: Plan, context: Context) -> list[Edit]:
    """The other class in each place."""
    made = []
    for path, start, end, text in _named(plan):
        package, dot, _ = text.rpartition(".")
        made.append(Edit(path, start, end, f"{package}.Stacked" if dot else context.names[path]["Stacked"]))
    return made


def _named(plan: Plan) -> list[tuple[Path, int, int, str]]:
    assert isinstance(plan.stack, InitStack)
    sites = [(site.place, site.text) for site in plan.stack.sites if isinstance(site, Named)]
    places = [*sites, *((each.place, each.element or "") for each in plan.stack.annotations)]
    return [(place.path, place.span.start, place.span.end, text) for place, text in places]
