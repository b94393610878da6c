"""A verification as JUnit XML for GitLab and Jenkins: one suite per case, one test per policy and check."""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from scanify.report.verification.remarks import NO_ADVICE, place, reason, said_once, sides
from scanify.report.verification.summary import once, title
from scanify.report.visible import visible
from scanify.verify.verdict import CaseResult, PolicyResult, Status, Verdict, Verification


@dataclass(frozen=True)
class _Test:
    """One test; `kind` is None if it passed, else the name of the XML element for the result."""

    name: str
    kind: str | None = None
    message: str = ""
    details: str = ""
    seconds: float = 0.0


def verification_junit(verification: Verification) -> str:
    """Render an XML 1.0 document. FAILED is a failure, NOT RUN a skipped test, a case that could not be run an error.

    If a case is not good although nothing failed (for example, because nothing was run), it has a failing test
    `verified`, so that a suite passes only if the case is good. The time of a suite is the time of the case's process;
    the time to trace, lower and compile a policy is reported for the test of its outputs.
    """
    root = Element("testsuites", name="scanify verify")
    for case in verification.cases:
        root.append(_suite(case, (*verification.versions, *_unshown(verification), *_advice(case, verification))))
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    root.set("time", _time(sum(_seconds(case) for case in verification.cases)))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _unshown(verification: Verification) -> Iterator[tuple[str, str]]:
    """Yield properties for the parts of the rewrite that no case shows."""
    for name in ("not_shown", "held_back"):
        if getattr(verification, name):
            yield name, getattr(verification, name)


def _advice(case: CaseResult, verification: Verification) -> Iterator[tuple[str, str]]:
    """Yield properties with the arguments against scanning in this case, if advice was requested."""
    if verification.advice is None:
        return
    found = [each for each in verification.advice if each.case == case.name]
    yield from ((f"advice.{each.kind}", each.text) for each in found)
    if not found:
        yield "advice", NO_ADVICE


def _suite(case: CaseResult, about: tuple[tuple[str, str], ...]) -> Element:
    tests = tuple(_tests(case))
    suite = Element("testsuite", name=visible(title(case)), tests=str(len(tests)))
    for count, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(sum(test.kind == kind for test in tests)))
    suite.set("time", _time(_seconds(case)))
    properties = [*about, *((f"variant.{name}", value) for name, value in case.variant)]
    properties += [("proviso", case.proviso)] if case.proviso else []
    if properties:
        holder = SubElement(suite, "properties")
        for name, value in properties:
            SubElement(holder, "property", name=visible(name), value=visible(value))
    for test in tests:
        element = SubElement(
            suite, "testcase", classname=visible(title(case)), name=visible(test.name), time=_time(test.seconds)
        )
        if test.kind is not None:
            result = SubElement(element, test.kind, message=visible(test.message))
            result.text = visible(test.details) or None
            if test.kind != "skipped":
                result.set("type", "scanify")
    if case.output:
        SubElement(suite, "system-out").text = visible(case.output)
    return suite


def _tests(case: CaseResult) -> Iterator[_Test]:
    if case.error is not None:
        yield _Test("verified", "error", _first_line(case.error), case.error)
        return
    tests = [_verdict(name, verdict, said_once(name, verdict)) for name, verdict in once(case)]
    for policy in case.policies:
        tests += _policy(policy)
    tests.append(_findings("findings", case.findings))
    yield from tests
    if not case.good and all(test.kind in (None, "skipped") for test in tests):
        skipped = [test.name for test in tests if test.kind == "skipped"]
        why = f"not run: {', '.join(skipped)}" if skipped else "nothing was compared"
        yield _Test("verified", "failure", f"the case is not verified; {why}")


def _policy(policy: PolicyResult) -> list[_Test]:
    figures = policy.measured
    took = sum(part or 0.0 for part in (figures.trace_seconds, figures.lower_seconds, figures.compile_seconds))
    name = policy.policy
    return [
        _verdict(f"outputs [{name}]", policy.outputs, reason(policy.outputs), took),
        _verdict(f"gradients [{name}]", policy.gradients, reason(policy.gradients)),
        _findings(f"findings [{name}]", policy.findings),
    ]


def _verdict(name: str, verdict: Verdict, said: str, seconds: float = 0.0) -> _Test:
    if verdict.good:
        return _Test(name, seconds=seconds)
    lines = [said] if said else []
    if verdict.difference is not None:
        lines.append(f"first difference: {verdict.difference.what}")
        lines += [f"{side}: {place(each)}: {each.text}" for side, each in sides(verdict.difference)]
    kind = "failure" if verdict.status is Status.FAILED else "skipped"
    message = _first_line(lines[0]) if lines else verdict.status.value
    return _Test(name, kind, message, "\n".join(lines), seconds)


def _findings(name: str, texts: tuple[str, ...]) -> _Test:
    return _Test(name, "failure", _first_line(texts[0]), "\n".join(texts)) if texts else _Test(name)


def _first_line(text: str) -> str:
    """The first line that is not blank."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason is given")


def _seconds(case: CaseResult) -> float:
    return sum(seconds for step, seconds in case.seconds if step == "total")


def _time(seconds: float) -> str:
    """Format seconds as an XML Schema decimal, which has neither exponents nor infinities."""
    return f"{seconds:.3f}" if 0 <= seconds < 1e15 else "0.000"
