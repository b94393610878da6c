"""Compare the outputs under `jax.vmap` over the arguments of the call, once for all policies.

A rule of `jax.custom_batching.custom_vmap` is used only there. If a program contains one, more is compared: each choice
of arguments that the rule distinguishes, batches of 2, 3 and 8, gradients of batches, gradients of each example if a
derivative contains one, and nested maps if the result of a rule contains rules itself. A rule inside a derivative rule
also sees maps of tangents, of second derivatives and of Jacobians, so nothing is proved about it unless both versions
are the same code.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import jax
from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.perturbed import Site, sites
from scanify.jaxpr.reading.user_rules import foreign, has_batching_rules, has_derivative_rules
from scanify.verify.compare.directions import grouped
from scanify.verify.compare.judge import Once, Subject, judge
from scanify.verify.compare.weakest import weakest
from scanify.verify.leaves.correspond import Recipe
from scanify.verify.objects.same import difference
from scanify.verify.programs.jvp import derivatives
from scanify.verify.programs.pair import Pair
from scanify.verify.programs.programs import Job
from scanify.verify.programs.trace import Traced
from scanify.verify.programs.vmap import INSIDE, OUTSIDE, SIZE, Batch, Nest
from scanify.verify.values.derivatives import compare_batched
from scanify.verify.verdict import Status, Verdict

# The sizes of batches besides `SIZE`, the depth of nested maps, and the maximal number of compared programs.
SIZES, DEPTH, MOST = (3, 8), 3, 100
# The order of compared derivatives.
_ORDER = 2

Programs = tuple[ClosedJaxpr, ClosedJaxpr]
_FORMS = {"": "", INSIDE: "gradients of each example ", OUTSIDE: "gradients of the batch "}


def batched(subject: Subject, untested: str, rewritten: Traced | None = None) -> Once:
    """Return the verdict on the outputs if every array among the arguments of the call has a batch axis.

    `rewritten` is the version whose batching rules are read; None to ignore rules. Random keys have the axis, too,
    unless the original does not support that. `untested` is the reason not to test outputs without a proof, "" to test
    them.
    """
    avals = subject.both.avals
    keys = [i for i in subject.both.inputs if jax.dtypes.issubdtype(avals[i].dtype, jax.dtypes.prng_key)]
    others = [i for i in subject.both.inputs if i not in keys]
    if not others:
        return Once(None, "not compared under vmap: the call has no array to batch")
    nests = _Nests(subject, untested)
    for inputs in [subject.both.inputs, others] if keys else [others]:
        found = nests.judged(Nest((Batch(tuple(inputs)),)), "")
        if not isinstance(found, str):
            break
    else:
        return Once(None, f"not compared under vmap, as the original raises {found}")
    if rewritten is not None:
        nests.all(rewritten, tuple(inputs))
    verdict = weakest(nests.verdicts)
    plain = verdict.status is Status.PROVED and not verdict.reason
    return Once(Verdict(Status.PROVED, nests.words) if plain else verdict)


@dataclass(eq=False)
class _Nests:
    """The compared maps of two versions, with their verdicts."""

    subject: Subject
    untested: str
    verdicts: list[tuple[str, Verdict]] = field(default_factory=list)
    compared: dict[Nest, Programs] = field(default_factory=dict)
    left_out: str = ""

    @property
    def words(self) -> str:
        """Describe the proved maps besides the one that is always compared; "" without any."""
        more = list(self.compared)[1:]
        if not more:
            return "the same code" if self.left_out else ""
        sizes = ", ".join(str(size) for size in sorted({batch.size for nest in more for batch in nest.batches}))
        forms = (
            ("vmap of vmap", any(len(nest.batches) > 1 for nest in more)),
            ("vmap of gradients", any(nest.gradients == INSIDE for nest in more)),
            ("gradients of vmap", any(nest.gradients == OUTSIDE for nest in more)),
        )
        said = "".join(f", {form}" for form, held in forms if held)
        same = "; all else is the same, as the code is" if self.left_out else ""
        return f"over all that batching rules tell apart, {len(more)} maps in batches of {sizes}{said}{same}"

    def all(self, rewritten: Traced, inputs: tuple[int, ...]) -> None:
        """Compare all maps that batching rules in the calls, and in their gradients, distinguish."""
        original = self.subject.original
        calls = original.forward, rewritten.forward
        if any(map(has_batching_rules, calls)) or foreign(calls[0]) != foreign(calls[1]):
            self.mapped(calls, (), "", inputs)
            for leaves in self.choices(calls, inputs):
                self.add(Nest((Batch(leaves),), OUTSIDE))
        if original.training is not None and rewritten.training is not None:
            pulled = original.training, rewritten.training
            if any(map(has_batching_rules, pulled)):
                cotangents = tuple(range(len(self.subject.both.avals), len(pulled[0].in_avals)))
                self.mapped(pulled, (), INSIDE, (*inputs, *cotangents))
        maps = [each for nest, made in self.compared.items() if not nest.gradients for each in made]
        if any(map(_derivative_has_batching_rules, [*calls, *(maps if len(self.compared) > 1 else ())])):
            more = "tangents and second derivatives under vmap are not compared"
            self.left_out = f"a batching rule in a derivative rule: {more}"
        if self.left_out and not _is_same_code(self.subject.both):
            some = "one map" if len(self.verdicts) == 1 else f"{len(self.verdicts)} maps"
            self.verdicts.append(("", Verdict(Status.NOT_RUN, f"proved for {some}; {self.left_out}")))

    def mapped(self, programs: Programs, around: tuple[Batch, ...], gradients: str, inputs: tuple[int, ...]) -> None:
        """Compare maps of two programs, and maps of the results as long as these contain rules."""
        if len(around) == DEPTH:
            self.left_out = f"batching rules that give functions with rules are compared {DEPTH} maps deep"
            return
        for leaves in self.choices(programs, inputs):
            for size in (SIZE, *SIZES) if not around or leaves == inputs else (SIZE,):
                made = self.add(Nest((*around, Batch(leaves, size)), gradients))
                if made is not None and size == SIZE and self.gave_rules(programs, made, leaves):
                    self.mapped(made, (*around, Batch(leaves, size)), gradients, inputs)

    def gave_rules(self, programs: Programs, made: Programs, leaves: tuple[int, ...]) -> bool:
        """True if rules run by a map over these inputs left calls with rules: more than those that it did not run."""
        groups, _ = self.groups(len(programs[0].in_avals))
        batched = frozenset(number for number, group in enumerate(groups) if not set(leaves).isdisjoint(group))
        pairs = [(self.sites(one), self.sites(other)) for one, other in zip(programs, made, strict=True)]
        return any(len(now) > sum(not any(site.seen_by(batched)[1]) for site in was) for was, now in pairs)

    def groups(self, count: int) -> tuple[list[tuple[int, ...]], list[int]]:
        """Return the inputs that a version holds in one array together, and the group number of each input."""
        groups = grouped(self.subject, range(count))
        at = {leaf: number for number, group in enumerate(groups) for leaf in group}
        return groups, [at[i] for i in range(count)]

    def sites(self, program: ClosedJaxpr) -> list[Site]:
        return sites(program, self.groups(len(program.in_avals))[1], batching=True)

    def choices(self, programs: Programs, inputs: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield the inputs together, each alone, the parameters, and a choice for each case that rules distinguish."""
        groups, at = self.groups(len(programs[0].in_avals))
        held = tuple(i for i in range(len(self.subject.both.avals)) if i not in set(self.subject.both.inputs))
        known = [inputs, *((i,) for i in inputs), held, tuple(sorted((*held, *inputs)))]
        yield from dict.fromkeys(each for each in known if each)
        found = [site for each in programs for site in self.sites(each)]
        seen = {site.seen_by(frozenset(at[i] for i in each)) for site in found for each in known}
        for site in found:
            listed, more = site.choices_of_inputs()
            self.left_out = "a batching rule tells more choices of arguments apart" if more else self.left_out
            for choice in listed:
                new = {each.seen_by(choice) for each in found} - seen
                seen |= new
                if new:
                    yield tuple(sorted(leaf for number in choice for leaf in groups[number]))

    def add(self, nest: Nest) -> Programs | None:
        """Compare a nest, unless there are too many; return the programs to look further into, else None."""
        if nest in self.compared:
            return self.compared[nest]
        if len(self.compared) >= MOST:
            self.left_out = "more maps are told apart by batching rules"
            return None
        found = self.judged(nest, f"{_FORMS[nest.gradients]}{' of '.join(map(self.named, reversed(nest.batches)))}: ")
        return None if isinstance(found, str) else found

    def named(self, batch: Batch) -> str:
        names = [*self.subject.both.found.names, *self.cotangents()]
        some = [names[i] for i in batch.leaves]
        what = " and ".join(some) if len(some) < 3 else f"{some[0]} and {len(some) - 1} more"
        return f"vmap over {what} by {batch.size}"

    def cotangents(self) -> list[str]:
        return [f"cotangent of {self.subject.comparison.outputs[i]}" for i in self.subject.comparison.inexact]

    def judged(self, nest: Nest, words: str) -> Programs | str | None:
        """Add the verdict on a nest. Return both programs, None if one cannot be traced, or the original's error."""
        subject, job = self.subject, Job("vmap", nest=nest)
        try:
            before = subject.original_program(job)
        except Exception as error:  # user code may raise anything
            return subject.said(error)
        try:
            after = subject.rewritten_program(job)
        except Exception as error:
            text = f"the rewritten version cannot be traced under vmap: {subject.said(error)}"
            self.verdicts.append((words, Verdict(Status.FAILED, text)))
            return None
        more: Sequence[str] = self.cotangents() if nest.gradients else ()
        test = functools.partial(compare_batched, nest=nest)
        what = f"outputs under {words.rstrip(': ') or self.named(nest.batches[0])}"
        found = judge(subject, before, after, test, more=more, cotangents=len(more), untested=self.untested, what=what)
        self.verdicts.append((words, found))
        self.compared[nest] = before, after
        return before, after


def _is_same_code(both: Pair) -> bool:
    """True if both contain the same objects and the same code, so that everything derived from them is the same."""
    versions = both.before, both.after
    if any(recipe != Recipe((at,)) for each in versions for at, recipe in enumerate(each.recipes)):
        return False
    before, after = (each.tree(both.avals) for each in versions)
    return difference(before, after) is None


def _derivative_has_batching_rules(program: ClosedJaxpr, order: int = _ORDER) -> bool:
    """True if a derivative of a program with derivative rules contains a batching rule, up to the second order."""
    if not order or not has_derivative_rules(program):
        return False
    return any(
        has_batching_rules(each) or _derivative_has_batching_rules(each, order - 1) for each in derivatives(program)
    )
