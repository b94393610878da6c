"""One case, both versions: are parameters, outputs and gradients the same, and what does each policy cost."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from jax.extend.core import ClosedJaxpr

from scanify.errors import ScanifyError
from scanify.verify.attempt import proof_of, rewritten
from scanify.verify.build import Case, build
from scanify.verify.correspond import Correspondence, Mismatch, correspond
from scanify.verify.findings import nothing_scanned, remat_findings, remat_notes
from scanify.verify.measure import from_trace, measured
from scanify.verify.mixed import check_not_mixed
from scanify.verify.numeric import Comparison, Outcome, compare_gradients, compare_outputs
from scanify.verify.pair import Pair, pair
from scanify.verify.parameters import same_parameters
from scanify.verify.prove import Proof
from scanify.verify.trace import Policy, Traced, trace
from scanify.verify.verdict import CaseResult, Measurement, PolicyResult, Status, Verdict
from scanify.verify.words import unproved

Files = Callable[[str], str | None]


def policy_of(name: Policy) -> Policy:
    """A policy by its name on the command line: "none" is a scan without remat, "true" the same as "full"."""
    return {"none": False, "false": False, "true": True}.get(name, name) if isinstance(name, str) else name


def policy_name(policy: Policy) -> str:
    """The name of a policy in reports; None is the version as it is written."""
    if policy is None:
        return "as written"
    return {True: "true", False: "none"}[policy] if isinstance(policy, bool) else str(policy)


def compare_case(
    name: str,
    before: Case,
    after: Case,
    *,
    policies: Sequence[Policy],
    requested: Policy,
    abstract: bool,
    measure: bool,
    files: Files | None = None,
) -> CaseResult:
    """Compare two versions of a case: `before()` and `after()` build `(model, args)` or `(model, args, kwargs)`.

    `policies` are the remat policies to compare under (None: as written); `requested` is the one that the rewritten
    source was asked for, and is checked to be what it does. With `abstract` no array is allocated and nothing is run;
    what is not proved then stays NOT RUN. With `measure` each version is also compiled. `files` gives the name to show
    of a file of the user's code, and None for any other.

    Raises ScanifyError where a case returns something else or calls the versions with different arguments, and
    whatever the user's code raises in the original version. What only the rewritten version raises makes it FAILED.
    """
    return _Case(name, policies, requested, abstract, measure, files).run(before, after)


@dataclass(eq=False)
class _Case:
    """The steps of one comparison, with the time that each took."""

    name: str
    policies: Sequence[Policy]
    requested: Policy
    abstract: bool
    measure: bool
    files: Files | None
    spent: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + time.perf_counter() - start

    def run(self, before: Case, after: Case) -> CaseResult:
        with self.step("build"):
            first = build(before, abstract=self.abstract)
            second = rewritten("cannot be built", lambda: build(after, abstract=self.abstract), self.files)
        if isinstance(second, Verdict):
            return self.stopped(second)
        with self.step("match"):
            both = pair(first, second)
        if isinstance(both, Mismatch):
            return self.stopped(Verdict(Status.FAILED, f"the models have different structures: {both}"))
        with self.step("parameters"):
            parameters = same_parameters(first, second, both.found, both.inputs, self.files)
        with self.step("trace"):
            original = trace(both.before, both.avals)
        if not original.outputs.avals:
            raise ScanifyError("expected the call of the model to return arrays, got none: there is nothing to compare")
        traces = {self.key(p): self.traced(both, p) for p in self.wanted()}
        for each in traces.values():
            check_not_mixed(original.forward, each.forward if isinstance(each, Traced) else None, self.files)
        comparison = Comparison(
            both.before,
            both.after,
            both.leaves,
            both.found.names,
            original.outputs.names,
            original.outputs.inexact,
            None,
        )
        shared = _Shared(both, original, comparison)
        results = tuple(self.policy(shared, policy, traces) for policy in self.policies)
        asked = [traces[self.key(p)] for p in self.policies]
        found = [t for t in asked if isinstance(t, Traced)]
        return CaseResult(
            self.name,
            parameters,
            results,
            self.costs(shared, original, None, original=True),
            self.case_findings(shared, found, traces, results),
            tuple(self.spent.items()),
        )

    def stopped(self, verdict: Verdict) -> CaseResult:
        """Nothing can be traced; every policy says so."""
        skipped = Verdict(Status.NOT_RUN, "the two models could not be matched")
        results = tuple(PolicyResult(policy_name(p), skipped, skipped) for p in self.policies)
        return CaseResult(self.name, verdict, results, seconds=tuple(self.spent.items()))

    def key(self, policy: Policy) -> str:
        return repr(policy_of(policy))

    def wanted(self) -> list[Policy]:
        """The policies to trace: those asked for, what is written, and what the findings are measured against."""
        extra: list[Policy] = [None] if self.requested is None else [None, self.requested, False]
        return list({self.key(p): p for p in [*self.policies, *extra]}.values())

    def traced(self, both: Pair, policy: Policy) -> Traced | Verdict:
        with self.step("trace"):
            answer: Traced | Verdict = rewritten(
                "cannot be traced", lambda: trace(both.after, both.avals, policy_of(policy)), self.files
            )
        return answer

    def policy(self, shared: _Shared, policy: Policy, traces: dict[str, Traced | Verdict]) -> PolicyResult:
        traced = traces[self.key(policy)]
        if isinstance(traced, Verdict):
            return PolicyResult(policy_name(policy), traced, traced)
        outputs = self.outputs(shared, traced, policy)
        gradients = self.gradients(shared, traced, policy)
        findings: tuple[str, ...] = ()
        notes = remat_notes(policy_name(policy), traced, traces.get(self.key(False)), shared.original)
        if self.requested is not None and self.key(policy) == self.key(self.requested):
            findings = remat_findings(policy_name(policy), traced, traces[self.key(None)])
        return PolicyResult(
            policy_name(policy), outputs, gradients, self.costs(shared, traced, policy), findings, notes
        )

    def outputs(self, shared: _Shared, traced: Traced, policy: Policy) -> Verdict:
        wrong = different_outputs(shared.original, traced)
        if wrong is not None:
            return Verdict(Status.FAILED, wrong)
        proof = self.proof(shared, shared.original.forward, traced.forward)
        return self.verdict(shared, proof, policy, compare_outputs)

    def gradients(self, shared: _Shared, traced: Traced, policy: Policy) -> Verdict:
        before, after = shared.original.gradient, traced.gradient
        if before is None:
            return Verdict(Status.TESTED, f"the original cannot be differentiated: {shared.original.raised}")
        if after is None:
            return Verdict(Status.FAILED, f"the rewritten version cannot be differentiated: {traced.raised}")
        if [(a.shape, a.dtype) for a in before.in_avals] != [(a.shape, a.dtype) for a in after.in_avals]:
            return Verdict(Status.NOT_RUN, "the outputs differ in shape or dtype, so their cotangents do too")
        proof = self.proof(shared, before, after, gradients=True)
        return self.verdict(shared, proof, policy, compare_gradients)

    def proof(self, shared: _Shared, before: ClosedJaxpr, after: ClosedJaxpr, *, gradients: bool = False) -> Proof:
        names = [*shared.both.found.names, *(f"cotangent of {name}" for name in shared.comparison.outputs)]
        layers = [*shared.both.found.layers, *(None for _ in shared.comparison.outputs)]
        count = len(before.in_avals)
        with self.step("prove"):
            return proof_of(before, after, names[:count], layers[:count], self.files, gradients)

    def verdict(self, shared: _Shared, proof: Proof, policy: Policy, test: Callable[[Comparison], Outcome]) -> Verdict:
        if proof.proved:
            weak = "" if all(proof.avals_equal) else "equal in value, shape and dtype, but not in weak type"
            return Verdict(Status.PROVED, weak)
        why = unproved(proof)
        if self.abstract:
            reason = f"not proved, and abstract weights have no values to test with: {why}"
            return Verdict(Status.NOT_RUN, reason, proof.difference)
        with self.step("test"):
            outcome = test(dataclasses.replace(shared.comparison, policy=policy_of(policy)))
        if not outcome.agree:
            return Verdict(Status.FAILED, f"{outcome.text}; {why}", proof.difference)
        if not proof.effects_equal:
            return Verdict(Status.NOT_RUN, f"the values agree ({outcome.text}), but {why}", proof.difference)
        return Verdict(Status.TESTED, f"not proved ({why}); {outcome.text}", proof.difference)

    def costs(self, shared: _Shared, traced: Traced, policy: Policy, *, original: bool = False) -> Measurement:
        if not self.measure or self.abstract or traced.gradient is None:
            return from_trace(traced)
        program = shared.both.before if original else shared.both.after
        with self.step("measure"):
            return measured(program, shared.both.avals, traced, policy_of(policy))

    def case_findings(
        self,
        shared: _Shared,
        found: Sequence[Traced],
        traces: dict[str, Traced | Verdict],
        results: Sequence[PolicyResult],
    ) -> tuple[str, ...]:
        findings = [*nothing_scanned(shared.original, found, shared.both.found.stacks)]
        if self.requested is not None and self.key(self.requested) not in map(self.key, self.policies):
            wanted = traces[self.key(self.requested)]
            findings += remat_findings(policy_name(self.requested), wanted, traces[self.key(None)])
        if all(result.outputs.good and result.gradients.good for result in results):
            findings += self.written(shared, traces)
        return tuple(findings)

    def written(self, shared: _Shared, traces: dict[str, Traced | Verdict]) -> list[str]:
        """What is wrong with the source as it is written, where it is not among the policies: they override it."""
        traced = traces[self.key(None)]
        if self.key(None) in map(self.key, self.policies):
            return []
        if isinstance(traced, Verdict):
            return [f"as it is written, {traced.reason}"]
        verdicts = {"outputs": self.outputs(shared, traced, None), "gradients": self.gradients(shared, traced, None)}
        return [f"as it is written, the {name} differ: {v.reason}" for name, v in verdicts.items() if not v.good]


@dataclass(frozen=True, eq=False)
class _Shared:
    """What is the same under every policy."""

    both: Pair
    original: Traced
    comparison: Comparison


def different_outputs(before: Traced, after: Traced) -> str | None:
    """How the outputs differ in pytree, shape, dtype or weak type, or in what is no array; None where they do not."""
    found: Correspondence | Mismatch = correspond(before.outputs.tree, after.outputs.tree)
    if isinstance(found, Mismatch):
        return f"output{_sub(found.path)}: {found.text}"
    if found.statics:
        return f"output{_sub(found.statics[0].path)}: {found.statics[0].text}"
    for i, (name, recipe) in enumerate(zip(before.outputs.names, found.recipes, strict=True)):
        if recipe.lead or recipe.sources != (i,):
            return f"{name}: an array of its own in the original, part of a stack in the rewritten version"
        weak = [getattr(t.outputs.avals[i], "weak_type", False) for t in (before, after)]
        if weak[0] != weak[1]:
            words = ["weakly typed" if w else "not weakly typed" for w in weak]
            return f"{name}: {words[0]} in the original, {words[1]} in the rewritten version"
    return None


def _sub(path: str) -> str:
    return path if not path or path.startswith("[") else f".{path}"
