"""Sets of leaves and outputs for which derivatives are compared in addition to all of them.

A derivative rule that reads zeros (`scanify.jaxpr.reading.perturbed`) may compute something else if a parameter is
frozen, or if a loss does not read an output. One choice is compared for each case that such a rule of either version
distinguishes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.perturbed import Choice, sites
from scanify.verify.compare.judge import Subject
from scanify.verify.programs.trace import differentiated

# Up to this number, groups of leaves, or outputs, are differentiated one by one and frozen one by one, whatever rules
# read.
EACH = 8
# The maximal number of compared sets.
MOST = 40


@dataclass(frozen=True)
class Direction:
    """The differentiated leaves, the outputs with cotangents (None: all), and both in words."""

    leaves: tuple[int, ...]
    used: tuple[int, ...] | None
    words: str


def parts(subject: Subject) -> list[Direction]:
    """Return the parameters alone and the inputs alone, as differentiated leaves; none if one of them is empty.

    If nothing is a parameter, each input alone.
    """
    inputs, names = set(subject.both.inputs), subject.both.found.names
    at = differentiated(subject.both.avals)
    given = tuple(i for i in at if i in inputs)
    held = tuple(i for i in at if i not in inputs)
    if len(inputs) == len(subject.both.avals):
        return [Direction((i,), None, f"of {names[i]} alone") for i in given] if 1 < len(given) <= EACH else []
    both = ((held, "of the parameters alone"), (given, "of the inputs alone"))
    return [Direction(leaves, None, words) for leaves, words in both] if given and held else []


def directions(subject: Subject, rewritten: ClosedJaxpr) -> tuple[list[Direction], bool]:
    """Return the directions in which two versions, whose calls are `subject.original` and `rewritten`, are compared
    besides all leaves and their `parts`; and whether rules distinguish more than these. Computed once per original."""
    found: tuple[list[Direction], bool] = subject.comparison.once("directions", lambda: _found(subject, rewritten))
    return found


def _found(subject: Subject, rewritten: ClosedJaxpr) -> tuple[list[Direction], bool]:
    groups = grouped(subject, differentiated(subject.both.avals))
    at = {leaf: number for number, group in enumerate(groups) for leaf in group}
    numbers = [at.get(leaf) for leaf in range(len(subject.both.avals))]
    found = [site for program in (subject.original.forward, rewritten) for site in sites(program, numbers)]
    if not found:
        return [], False
    whole = Choice(frozenset(range(len(groups))), frozenset(subject.comparison.inexact))
    done = [whole, *(Choice(frozenset(at[leaf] for leaf in part.leaves), whole.outputs) for part in parts(subject))]
    chosen = [Choice(each, whole.outputs) for each in _one_by_one(whole.leaves)]
    chosen += [Choice(whole.leaves, each) for each in _one_by_one(whole.outputs)]
    chosen = [each for each in dict.fromkeys(chosen) if each not in done]
    seen = {site.seen(choice) for choice in (*done, *chosen) for site in found}
    listed, more = zip(*(site.choices() for site in found), strict=True)
    left_out = any(more)
    for choice in dict.fromkeys(choice for choices in listed for choice in choices):
        new = {site.seen(choice) for site in found} - seen
        if new and len(chosen) < MOST:
            chosen.append(choice)
            seen |= new
        elif new:
            left_out = True
    return [_direction(subject, groups, choice) for choice in chosen], left_out


def grouped(subject: Subject, leaves: Iterable[int]) -> list[tuple[int, ...]]:
    """Group these leaves, together if one version holds them in one array."""
    group = {leaf: leaf for leaf in leaves}
    for version in (subject.both.before, subject.both.after):
        for recipe in version.recipes:
            held = {group[leaf] for leaf in recipe.sources if leaf in group}
            group = {leaf: min(held) if number in held else number for leaf, number in group.items()}
    return [tuple(leaf for leaf in group if group[leaf] == number) for number in dict.fromkeys(group.values())]


def _one_by_one(members: frozenset[int]) -> list[frozenset[int]]:
    """Return each alone, and all except each, for a few members."""
    each = [frozenset([one]) for one in sorted(members)] if 1 < len(members) <= EACH else []
    return [*each, *(members - one for one in each)]


def _direction(subject: Subject, groups: Sequence[tuple[int, ...]], choice: Choice) -> Direction:
    names = [subject.both.found.names[group[0]] for group in groups]
    moved = [name for number, name in enumerate(names) if number in choice.leaves]
    frozen = [name for number, name in enumerate(names) if number not in choice.leaves]
    unused = [i for i in subject.comparison.inexact if i not in choice.outputs]
    said = (
        [f"with {_listed(frozen)} frozen" if len(frozen) < len(moved) else f"of {_listed(moved)} alone"]
        if frozen
        else []
    )
    said += [f"where {_listed([subject.comparison.outputs[i] for i in unused])} is not used"] if unused else []
    leaves = sorted(leaf for number in choice.leaves for leaf in groups[number])
    return Direction(tuple(leaves), tuple(sorted(choice.outputs)) if unused else None, " ".join(said))


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:2])} and {len(names) - 2} more" if len(names) > 3 else " and ".join(names)
