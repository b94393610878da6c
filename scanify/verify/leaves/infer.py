"""Match the leaves of the original with the leaves of a version written by hand.

If the structures of two models differ (`correspond` walks them together), their leaves are matched one by one: by their
values, by their place next to leaves that are already matched, by their names. The result is a bijection of leaves, so
each leaf of the original is in exactly one place.

For the verdicts, outputs and gradients are compared as functions of the leaves of the original, from which the leaves
of the rewritten version are made by the recipes. PROVED says that with these recipes both are the same function of all
values of the parameters, which holds however the recipes were guessed. A wrong guess makes another function of the
rewritten model, which is then found to differ: it can fail a correct version, but cannot pass a wrong one. The equality
of the initial parameters is another verdict (`parameters`), for the same recipes. The report lists the recipes. Static
fields are not compared: their effects are in the traced programs.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scanify.verify.leaves.correspond import Correspondence, Recipe
from scanify.verify.leaves.leaves import Group, Keys, Leaf, aval_text, groups_of, layer_of, leaves_of, name_of, starred

_MEMBERS = 2  # the number of member axes that may precede the layer axes


@dataclass(frozen=True)
class _Link:
    """A place in the rewritten model, and the places in the original from which its leaves are made."""

    after: Keys
    before: tuple[Keys, ...]
    lead: tuple[int, ...]
    axes: tuple[int, ...]


def infer(before: Any, after: Any, given: Mapping[int, Recipe] | None = None) -> Correspondence | str:
    """Match the leaves of two models; a str that names leaves without a counterpart if there are any.

    `given` are recipes from the case itself, by the number of the leaf of the rewritten model.
    """
    found = _Matching(leaves_of(before), leaves_of(after))
    for index, recipe in (given or {}).items():
        found.accept(found.after[index], recipe)
    found.by_value()
    while found.beside() or found.by_name() or found.by_shape():
        pass
    left = found.left_over()
    return left or found.correspondence()


@dataclass(eq=False)
class _Matching:
    """`chosen` are the recipes found so far by leaf of the rewritten model, `free` the original's unused leaves."""

    before: tuple[Leaf, ...]
    after: tuple[Leaf, ...]
    chosen: dict[int, Recipe] = field(default_factory=dict)
    links: dict[_Link, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.free = {leaf.index for leaf in self.before}
        self.at = {leaf.keys: leaf for leaf in self.before}
        self.groups: dict[Any, list[Group]] = defaultdict(list)
        singles = (Group(leaf.keys, Recipe((leaf.index,))) for leaf in self.before)
        for group in (*singles, *groups_of(self.before)):
            shape, dtype = self.before[group.recipe.sources[0]].form()
            lead = group.recipe.lead
            for made in {(*shape[:at], *lead, *shape[at:]) for at in range(len(shape) + 1)}:
                self.groups[made, dtype].append(group)
        self.concrete = all(leaf.concrete for leaf in (*self.before, *self.after))
        self.prints = [leaf.prints()[0] for leaf in self.before] if self.concrete else []

    @property
    def open(self) -> list[Leaf]:
        return [leaf for leaf in self.after if leaf.index not in self.chosen]

    def fits(self, leaf: Leaf, recipe: Recipe) -> bool:
        """True if the leaf can be made by a recipe, from unused leaves of the original."""
        rank, first = len(recipe.lead), recipe.first
        return (
            leaf.shape[first : first + rank] == recipe.lead
            and len(set(recipe.sources)) == len(recipe.sources) == math.prod(recipe.lead)
            and self.free.issuperset(recipe.sources)
            and all(self.before[i].form() == leaf.form(rank, first) for i in recipe.sources)
        )

    def accept(self, leaf: Leaf, recipe: Recipe) -> None:
        """Settle a leaf, and record that its neighbours correspond too."""
        self.chosen[leaf.index] = recipe
        self.free -= set(recipe.sources)
        keys = [self.before[i].keys for i in recipe.sources]
        same = min(_common(leaf.keys[::-1], each[::-1]) for each in keys)
        if same:
            self.links[_Link(leaf.keys[:-same], tuple(each[:-same] for each in keys), recipe.lead, recipe.axes)] = None

    def by_value(self) -> None:
        """Settle every leaf whose bits, as a whole or in slices, occur exactly once in both models."""
        if not self.concrete:
            return
        held = Counter(self.prints[i] for i in self.free)
        where = {self.prints[i]: i for i in self.free}
        forms = {leaf.form() for leaf in self.before}
        for rank, first in ((0, 0), *itertools.product((1, 2), range(_MEMBERS + 1))):
            open_ = {
                leaf.index: leaf.prints(rank, first)
                for leaf in self.open
                if leaf.form(rank, first) in forms and len(leaf.shape) >= first + rank
            }
            seen = Counter(each for prints in open_.values() for each in prints)
            for index, prints in open_.items():
                if prints and all(held[each] == seen[each] == 1 for each in prints):
                    leaf = self.after[index]
                    axes = tuple(range(first, first + rank))
                    recipe = Recipe(tuple(where[each] for each in prints), leaf.shape[first : first + rank], axes)
                    if self.fits(leaf, recipe):
                        self.accept(leaf, recipe)

    def beside(self) -> bool:
        """Settle the neighbours of settled leaves that have the same names in both models."""
        done = False
        for leaf in self.open:
            found = {recipe for link in self.links if (recipe := self._beside(leaf, link)) is not None}
            if len(found) > 1:
                found = {recipe for recipe in found if self.equal(leaf, recipe)} or found
            if len(found) == 1:
                self.accept(leaf, found.pop())
                done = True
        return done

    def _beside(self, leaf: Leaf, link: _Link) -> Recipe | None:
        if leaf.keys[: len(link.after)] != link.after:
            return None
        rest = leaf.keys[len(link.after) :]
        sources = [self.at.get(place + rest) for place in link.before]
        recipe = Recipe(tuple(leaf.index for leaf in sources if leaf is not None), link.lead, link.axes)
        return recipe if None not in sources and self.fits(leaf, recipe) else None

    def by_name(self) -> bool:
        """Settle the one leaf whose name is most similar to the name of a leaf or a whole group of the original."""
        best = []
        for leaf in self.open:
            scored = [(_alike(leaf.keys, group.keys), recipe) for group, recipe in self.candidates(leaf)]
            scored = [(score, recipe) for score, recipe in scored if score[0]]
            tops = [(score, recipe) for score, recipe in scored if score == max(each for each, _ in scored)]
            if len(tops) == 1:
                best.append((tops[0][0], leaf, tops[0][1]))
        top = max((score for score, _, _ in best), default=None)
        return self._settle([each for each in best if each[0] == top])

    def by_shape(self) -> bool:
        """Settle a leaf that fits only one leaf or group of the original, if that fits no other either."""
        found = []
        for leaf in self.open:
            candidates = list(self.candidates(leaf))
            if len(candidates) == 1:
                found.append((0, leaf, candidates[0][1]))
        return self._settle(found)

    def _settle(self, found: Sequence[tuple[Any, Leaf, Recipe]]) -> bool:
        """Settle those whose leaves of the original are claimed by no other."""
        claims = Counter(source for _, _, recipe in found for source in recipe.sources)
        alone = [(leaf, recipe) for _, leaf, recipe in found if all(claims[each] == 1 for each in recipe.sources)]
        for leaf, recipe in alone:
            self.accept(leaf, recipe)
        return bool(alone)

    def candidates(self, leaf: Leaf) -> Iterator[tuple[Group, Recipe]]:
        """Return the leaves and groups of the original that the leaf could be, with recipes; only those with the same
        bits, if there are any."""
        fitting = [
            (group, recipe)
            for group in self.groups[leaf.form()]
            for recipe in leaf.made_of(group.recipe, self.before[group.recipe.sources[0]])[
                : 1 if not self.concrete else None
            ]
            if self.fits(leaf, recipe)
        ]
        equal = [(group, recipe) for group, recipe in fitting if self.equal(leaf, recipe)]
        yield from _once(equal) or _once(fitting)

    def equal(self, leaf: Leaf, recipe: Recipe) -> bool:
        prints = leaf.prints(len(recipe.lead), recipe.first) if self.concrete else ()
        return self.concrete and prints == tuple(self.prints[i] for i in recipe.sources)

    def left_over(self) -> str:
        """Describe the leaves without a counterpart; "" if all have one."""
        parts = [
            f"{_listed(some)} of the {version} model"
            for version, some in (
                ("rewritten", self.open),
                ("original", [leaf for leaf in self.before if leaf.index in self.free]),
            )
            if some
        ]
        hint = "a case can say what belongs together, as in `mapping = {'stack.w': 'layers[*].w'}` on its function"
        return f"no counterpart was found for {' and '.join(parts)}; {hint}" if parts else ""

    def correspondence(self) -> Correspondence:
        recipes = tuple(self.chosen[leaf.index] for leaf in self.after)
        return Correspondence(
            tuple(leaf.name for leaf in self.before),
            tuple(layer_of(leaf.keys) for leaf in self.before),
            recipes,
            stacks=tuple(sorted({recipe.lead[0] for recipe in recipes if recipe.lead})),
            matched=tuple((leaf.name, self.shown(recipe)) for leaf, recipe in zip(self.after, recipes, strict=True)),
        )

    def shown(self, recipe: Recipe) -> str:
        """Describe the sources of a leaf, such as `layers[0..3].w`."""
        return _ranged(self.before[recipe.sources[0]].keys, self.before[recipe.sources[-1]].keys)


def _once(found: Sequence[tuple[Group, Recipe]]) -> list[tuple[Group, Recipe]]:
    """Return each group once, with the axes of stacking in front, if possible."""
    kept: dict[int, tuple[Group, Recipe]] = {}
    for group, recipe in found:
        kept.setdefault(id(group), (group, recipe))
    return list(kept.values())


def _ranged(first: Keys, last: Keys) -> str:
    if len(first) != len(last):
        return f"{name_of(first)} to {name_of(last)}"
    return name_of(tuple(a if a == b else _span(a, b) for a, b in zip(first, last, strict=True)))


def _span(a: str, b: str) -> str:
    return f"{a[:-1]}..{b[1:]}" if a.startswith("[") and b.startswith("[") else f"{a}..{b}"


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Count the common keys at the start of two sequences."""
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


def _alike(after: Keys, before: Keys) -> tuple[int, int]:
    """Count the common last keys, and the common first keys, ignoring stars."""
    names = tuple(key for key in before if "*" not in key)
    return _common(after[::-1], names[::-1]), _common(after, names)


def _listed(leaves: Sequence[Leaf]) -> str:
    """List the names of leaves with their shapes, joining those that differ in numbers alone."""
    alike: dict[Any, list[Leaf]] = defaultdict(list)
    for leaf in leaves:
        alike[tuple(map(starred, leaf.keys)), leaf.form()].append(leaf)
    names = [f"{_ranged(some[0].keys, some[-1].keys)} ({aval_text(some[0])})" for some in alike.values()]
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    return ", ".join(names[: 4 if more else 5]) + more
