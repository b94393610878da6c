"""Compare both versions of one case: parameters, outputs and gradients, and the cost of each policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from scanify.errors import ScanifyError
from scanify.jaxpr.reading.user_rules import has_derivative_rules
from scanify.verify.cases.build import Built, Case, build
from scanify.verify.cases.iterations import Iterations
from scanify.verify.cases.start import UNSEEN, Start
from scanify.verify.certificate.write import Certificate
from scanify.verify.compare.batched import batched
from scanify.verify.compare.execute import executed
from scanify.verify.compare.findings import donated, nothing_scanned, policy_changed, remat_findings, remat_notes
from scanify.verify.compare.gradients import Gradients, gradients
from scanify.verify.compare.judge import Once, Subject
from scanify.verify.compare.keys import keys
from scanify.verify.compare.outputs import different_outputs, outputs
from scanify.verify.compare.parameters import from_any_key, same_parameters, unlike_alternatives, unlike_statics
from scanify.verify.compare.tangents import tangents
from scanify.verify.leaves.correspond import Mismatch
from scanify.verify.leaves.layer_names import Layer
from scanify.verify.leaves.unknown_axes import unknown_axes
from scanify.verify.linen.align import SAME_START, aligned
from scanify.verify.measure.in_passing import in_passing
from scanify.verify.measure.measure import Executables, from_trace
from scanify.verify.measure.steps import Steps
from scanify.verify.profile.source_loops import Loop
from scanify.verify.programs.pair import Pair, pair
from scanify.verify.programs.policy import is_asked_for
from scanify.verify.programs.policy import policy_name as policy_name
from scanify.verify.programs.policy import policy_of as policy_of
from scanify.verify.programs.programs import Job, call_digest
from scanify.verify.programs.trace import Policy, Traced, trace
from scanify.verify.programs.witness import Witness
from scanify.verify.proof.attempt import rewritten
from scanify.verify.proof.layers import Layers, find_layers, missing_layers, scans_more
from scanify.verify.training.updates import updates
from scanify.verify.values.numeric import Comparison
from scanify.verify.verdict import CaseResult, Measurement, PolicyResult, Status, Verdict
from scanify.verify.versions.mixed import check_not_mixed

Files = Callable[[str], str | None]
Traces = Mapping[str, Traced | Verdict]


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
    witness: Witness | None = None,
    certificate: Certificate | None = None,
    execute: bool = False,
    paced: str = "",
    loops: Mapping[str, Sequence[Loop]] = MappingProxyType({}),
) -> CaseResult:
    """Compare two versions of a case: `before()` and `after()` build `(model, args)` or `(model, args, kwargs)`.

    `policies` are the remat policies to compare under (None: as written); `requested` is the policy that the rewritten
    source should have, which is checked. With `abstract` no array is allocated and nothing is run; checks without a
    proof then stay NOT RUN. With `measure` each version is also compiled, for which shapes are enough; with `abstract`
    only the rewritten one. `files` returns the displayed name of a file of the user's code, and None for other files.
    `witness` receives the results of each version, and may report that the version computes something else when it runs
    alone. `certificate` collects the proofs. With `execute` the compiled programs are run, too. `paced` is as in
    `in_passing`. `loops` are the loops of the original's files whose iterations are counted.

    Raises ScanifyError if a case returns something else or calls the versions with different arguments, and all errors
    of the user's code in the original version. An error of the rewritten version alone is FAILED.
    """
    watched = Iterations(loops), Iterations(loops)
    given = (name, policies, requested, abstract, measure, files, witness, certificate, execute, paced)
    return _Case(*given, *watched).run(before, after)


@dataclass(eq=False)
class _Case:
    """The steps of one comparison, with their durations."""

    name: str
    policies: Sequence[Policy]
    requested: Policy
    abstract: bool
    measure: bool
    files: Files | None
    witness: Witness | None
    certificate: Certificate | None
    execute: bool
    paced: str
    building: Iterations
    called: Iterations
    steps: Steps = field(default_factory=Steps)
    executables: Executables = field(default_factory=Executables)

    def run(self, before: Case, after: Case) -> CaseResult:
        with self.steps.step("build"):
            with self.building.watching():
                first = build(before, abstract=self.abstract)
            second = rewritten("cannot be built", lambda: build(after, abstract=self.abstract), self.files)
        if isinstance(second, Verdict):
            return self.stopped(second)
        loop = aligned(before, first, second, abstract=self.abstract)
        if isinstance(loop, Mismatch):
            return self.stopped(Verdict(Status.FAILED, f"the models have different structures: {loop}"))
        first = loop
        if self.certificate is not None and first.proviso:
            self.certificate.case += f" ({first.proviso})"
        if self.witness is not None:
            self.witness.built(first, second)
        with self.steps.step("match"):
            both = pair(first, second)
        if isinstance(both, Mismatch):
            failed = Verdict(Status.FAILED, f"the models have different structures: {both}")
            return self.stopped(_unknown((before, first), (after, second)) or failed)
        with self.steps.step("parameters"):
            parameters = self.same_start(before, after, first, second, both)
        unknown = _unknown((before, first), (after, second)) if parameters.status is Status.FAILED else None
        if unknown is not None:
            return self.stopped(unknown)
        if self.witness is not None:
            self.witness.matched(both.found, both.avals)
        with self.steps.step("trace"):
            original = self.seen("original", None, trace(both.before, both.avals, watching=self.called.watching))
        if not original.outputs.avals:
            raise ScanifyError("expected the call of the model to return arrays, got none: there is nothing to compare")
        traces = {self.key(p): self.traced(both, p) for p in self.wanted()}
        for each in traces.values() if self.witness is None else ():  # a witness detects more
            check_not_mixed(original.forward, each.forward if isinstance(each, Traced) else None, self.files)
        comparison = Comparison(
            both.before,
            both.after,
            both.leaves,
            both.found.names,
            original.outputs.names,
            original.outputs.inexact,
            None,
            inputs=both.inputs,
        )
        subject = Subject(
            both,
            original,
            comparison,
            self.abstract,
            self.files,
            self.steps,
            witness=self.witness,
            certificate=self.certificate,
        )
        result = replace(self.compared(subject, parameters, traces), proviso=first.proviso)
        odd = None if self.witness is None else self.witness.difference() or self.changed(both, original, result)
        if odd is not None:
            raise ScanifyError(f"{self.name}: {odd}")
        return result

    def same_start(self, before: Case, after: Case, first: Built, second: Built, both: Pair) -> Verdict:
        """Return whether both versions start from the same parameters, for any key."""
        starts = [start() for case in (before, after) if (start := getattr(case, "start", None)) is not None]
        if Start.SAME_SOURCE in starts or Start.UNKNOWN in starts:
            known = Verdict(Status.PROVED) if Start.SAME_SOURCE in starts else None
            return unlike_statics(both.found) or known or Verdict(Status.NOT_RUN, UNSEEN[Start.UNKNOWN])
        unlike = unlike_alternatives(before, after, both, self.files, abstract=self.abstract)
        if unlike is not None:
            return unlike
        found = same_parameters(first, second, both.found, both.inputs, self.files, self.certificate)
        if found.status is Status.FAILED and first.proviso and not self.abstract:
            # Linen runs scanned code as one program, which may round differently from the same operations one by one.
            loop = build(before, abstract=True, streams=first.streams)
            scan = build(after, abstract=True)
            proof = same_parameters(loop, scan, both.found, both.inputs, self.files, self.certificate)
            found = proof if proof.good else found
        if found.status is Status.FAILED or (not found.good and self.abstract):
            return found
        if Start.VALUES in starts:
            return Verdict(Status.TESTED, UNSEEN[Start.VALUES]) if found.good else found
        models = first.tree[0], second.tree[0]
        other = from_any_key(
            before, after, both, models, abstract=self.abstract, files=self.files, streams=first.streams
        )
        if not found.good:  # an object that the models hold is not understood
            return other if other is not None and other.status is Status.FAILED else found
        return other or (replace(found, reason=SAME_START) if first.proviso else found)

    def changed(self, both: Pair, original: Traced, result: CaseResult) -> str | None:
        """Return a reason if the original has changed after all runs; if everything was proved, nothing was run."""
        if all(
            each.outputs.status is Status.PROVED and each.gradients.status is Status.PROVED for each in result.policies
        ):
            return None
        if call_digest(trace(both.before, both.avals)) == call_digest(original):
            return None
        return "the original does something else each time that it is called, so its values say nothing"

    def compared(self, subject: Subject, parameters: Verdict, traces: Traces) -> CaseResult:
        written = traces[self.key(None)]
        results = tuple(self.policy(subject, policy, traces) for policy in self.policies)
        self.steps.under = ""
        once = self.once(subject, written, results)
        found = None if isinstance(written, Verdict) else find_layers(subject, written.forward)
        findings, runs = self.case_findings(subject, traces, results), self.called.runs(self.files, self.building)
        scanned = frozenset[Layer]() if found is None else found.scanned
        if runs and scanned:  # no loop ran: layers that the original also scans over are no evidence
            before = find_layers(subject, subject.original.forward)
            scanned -= frozenset() if before is None else before.scanned
        good = not findings and all(result.good for result in results) and parameters.good
        pace = in_passing(subject, written, self.executables, self.paced) if good and self.paced else None
        return CaseResult(
            self.name,
            parameters,
            results,
            self.costs(subject, subject.original, None, original=True),
            (*findings, *self.layer_findings(subject, found, results)),
            tuple(self.steps.spent.items()),
            layers=sum(run.iterations or 0 for run in runs) or len(scanned) or None,
            loops=runs,
            tangents=once[0].verdict,
            batched=once[1].verdict,
            keys=once[2].verdict,
            updates=once[3].verdict,
            notes=(*self.case_notes(subject, traces), *(each.note for each in once if each.note)),
            pace=pace,
        )

    def stopped(self, verdict: Verdict) -> CaseResult:
        """Return the result if nothing can be traced: every policy is NOT RUN."""
        skipped = Verdict(Status.NOT_RUN, "the two models could not be matched")
        results = tuple(PolicyResult(policy_name(p), skipped, skipped) for p in self.policies)
        return CaseResult(self.name, verdict, results, seconds=tuple(self.steps.spent.items()))

    def key(self, policy: Policy) -> str:
        return repr(policy_of(policy))

    def wanted(self) -> list[Policy]:
        """Return the policies to trace: the requested ones, the written one, and references for the findings."""
        extra: list[Policy] = [None] if self.requested is None else [None, self.requested, False]
        return list({self.key(p): p for p in [*self.policies, *extra]}.values())

    def traced(self, both: Pair, policy: Policy) -> Traced | Verdict:
        self.steps.under = _under(policy)
        with self.steps.step("trace"):
            answer: Traced | Verdict = rewritten(
                "cannot be traced", lambda: trace(both.after, both.avals, policy_of(policy)), self.files
            )
            return answer if isinstance(answer, Verdict) else self.seen("rewritten", policy, answer)

    def seen(self, version: str, policy: Policy, traced: Traced) -> Traced:
        if self.witness is not None:
            self.witness.saw(version, Job("call", policy_of(policy)), call_digest(traced))
        return traced

    def policy(self, subject: Subject, policy: Policy, traces: Traces) -> PolicyResult:
        traced, name = traces[self.key(policy)], policy_name(policy)
        cannot = self.unsupported(subject, policy, traces)
        if cannot:
            skipped = Verdict(Status.NOT_RUN, f"jax cannot do this under {name}: {cannot}")
            return PolicyResult(name, skipped, skipped, unsupported=cannot)
        if isinstance(traced, Verdict):
            return PolicyResult(name, traced, traced)
        without = traces.get(self.key(False))
        self.steps.under = _under(policy)
        first, second = self.verdicts(subject, traced, policy)
        findings = second.findings
        if self.requested is not None and self.key(policy) == self.key(self.requested):
            findings = (*findings, *remat_findings(name, traced, traces[self.key(None)]))
        return PolicyResult(
            name,
            first,
            second.verdict,
            self.costs(subject, traced, policy),
            findings,
            (*second.notes, *remat_notes(name, traced, without, subject.original)),
            policy_changed(traced, without),
        )

    def unsupported(self, subject: Subject, policy: Policy, traces: Traces) -> str:
        """Return the error under a policy that was not requested, if the code as written raises none; otherwise ""."""
        if is_asked_for(policy, self.policies, self.requested) or subject.original.gradient is None:
            return ""
        written = traces[self.key(None)]
        if isinstance(written, Verdict) or written.gradient is None:
            return ""
        traced = traces[self.key(policy)]
        return traced.reason.partition(": ")[2] if isinstance(traced, Verdict) else traced.raised

    def verdicts(self, subject: Subject, traced: Traced, policy: Policy) -> tuple[Verdict, Gradients]:
        """Return the verdicts on the outputs and on the gradients, with other findings."""
        first = outputs(subject, traced, policy)
        second = gradients(subject, traced, policy, first)
        if not self.execute or self.abstract:
            return first, second
        first, verdict = executed(subject, traced, policy, self.executables, (first, second.verdict))
        return first, replace(second, verdict=verdict)

    def once(self, subject: Subject, written: Traced | Verdict, results: Sequence[PolicyResult]) -> tuple[Once, ...]:
        """Check tangents, outputs under vmap, the use of keys, and updated parameters, of the version as written."""
        if isinstance(written, Verdict):
            skipped = Once(Verdict(Status.NOT_RUN, "as it is written, the rewritten version cannot be traced"))
            return skipped, skipped, skipped, Once(None)
        differ = different_outputs(subject.original, written) or any(r.outputs.status is Status.FAILED for r in results)
        untested = "the outputs differ already" if differ else ""
        programs = (subject.original.forward, written.forward)
        derivatives = any(map(has_derivative_rules, programs))
        return (
            tangents(subject, untested, written.forward if derivatives else None),
            batched(subject, untested, written),
            keys(subject, written),
            updates(subject, untested),
        )

    def costs(self, subject: Subject, traced: Traced, policy: Policy, *, original: bool = False) -> Measurement:
        # Abstract models are used if the loop takes minutes to compile; their scans do not.
        if not self.measure or (self.abstract and original) or traced.gradient is None:
            return from_trace(traced)
        program = subject.both.before if original else subject.both.after
        with self.steps.step("measure"):
            return self.executables.of(program, subject.both.avals, traced, policy_of(policy)).measured

    def case_findings(self, subject: Subject, traces: Traces, results: Sequence[PolicyResult]) -> tuple[str, ...]:
        findings = [] if self.as_written else [*self.scanned(subject, traces)]
        if self.requested is not None and self.key(self.requested) not in map(self.key, self.policies):
            wanted = traces[self.key(self.requested)]
            findings += remat_findings(policy_name(self.requested), wanted, traces[self.key(None)])
        if all(result.good or (result.outputs.good and result.gradients.good) for result in results):
            known = {finding for result in results for finding in result.findings}
            findings += [each for each in self.written(subject, traces) if each not in known]
        return tuple(findings)

    @property
    def as_written(self) -> bool:
        """Return whether only the written code is checked, such as an arbitrary change made by hand."""
        return tuple(self.policies) == (None,)

    def case_notes(self, subject: Subject, traces: Traces) -> tuple[str, ...]:
        """Return notes: unclear matches of leaves, a change by hand that scans nothing, and donated arguments."""
        written, found = traces[self.key(None)], subject.both.found
        notes = (*found.notes, *(self.scanned(subject, traces) if self.as_written else ()))
        return notes if isinstance(written, Verdict) else (*notes, *donated(found.names, subject.original, written))

    def scanned(self, subject: Subject, traces: Traces) -> tuple[str, ...]:
        asked = [traces[self.key(p)] for p in self.policies]
        found = [t for t in asked if isinstance(t, Traced)]
        stacks, programs = subject.both.found.stacks, [each.forward for each in found]
        return nothing_scanned(subject.original, found, stacks, lambda: scans_more(subject, programs))

    def written(self, subject: Subject, traces: Traces) -> list[str]:
        """Return the errors of the source as written, if it is not among the policies, which override it."""
        traced = traces[self.key(None)]
        if self.key(None) in map(self.key, self.policies):
            return []
        if isinstance(traced, Verdict):
            return [f"as it is written, {traced.reason}"]
        first, second = self.verdicts(subject, traced, None)
        verdicts = {"outputs": first, "gradients": second.verdict}
        wrong = [f"as it is written, the {name} differ: {v.reason}" for name, v in verdicts.items() if not v.good]
        return [*wrong, *second.findings]

    def layer_findings(
        self, subject: Subject, found: Layers | None, results: Sequence[PolicyResult]
    ) -> tuple[str, ...]:
        """Report layers that are never applied. A proof covers all, and a verdict on different outputs says more."""
        if found is None or all(result.outputs.status is not Status.TESTED for result in results):
            return ()
        before = find_layers(subject, subject.original.forward)
        missing = None if before is None else missing_layers(before, found)
        return () if missing is None else (missing,)


def _unknown(*versions: tuple[Case, Built]) -> Verdict | None:
    """Return NOT RUN if the layer axis of a stack is not known, so that leaves may have been matched wrongly."""

    def again(case: Case, built: Built) -> Callable[[], Any]:
        return lambda: build(case, abstract=True, streams=built.streams).tree

    why = unknown_axes(*((built.tree, again(case, built)) for case, built in versions))
    return None if why is None else Verdict(Status.NOT_RUN, why)


def _under(policy: Policy) -> str:
    return " as it is written" if policy is None else f" under {policy_name(policy)}"
