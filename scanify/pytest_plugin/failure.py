"""Messages for failed cases."""

from scanify.report.verification.remarks import place, reason, said_once, sides
from scanify.report.verification.summary import once
from scanify.verify.verdict import CaseResult, Verdict


def wrong(result: CaseResult, policy: str) -> str | None:
    """Return the error message for a policy, or None if the case is good under it."""
    if result.error is not None:
        return f"{result.name} could not be verified: {result.error}"
    found = [each for each in result.policies if each.policy == policy]
    if not found:
        return f"{result.name}: {policy} was not compared"
    lines = []
    for each in found:
        for what, verdict in (("outputs", each.outputs), ("gradients", each.gradients)):
            if not verdict.good:
                lines += _lines(what, verdict, reason(verdict))
        lines += list(each.findings)
    return "\n".join([f"{result.name} under {policy}", *_indented(lines)]) if lines else None


def wrong_as_a_whole(result: CaseResult) -> str | None:
    """Return the error message for the checks that do not depend on a policy, or None if they are good."""
    if result.error is not None:
        return f"{result.name} could not be verified: {result.error}"
    lines = []
    for what, verdict in once(result):
        if not verdict.good:
            lines += _lines(what, verdict, said_once(what, verdict))
    lines += list(result.findings)
    return "\n".join([result.name, *_indented(lines)]) if lines else None


def _lines(what: str, verdict: Verdict, said: str) -> list[str]:
    lines = [f"{what} {verdict.status.value}: {said}"]
    if verdict.difference is None:
        return lines
    lines.append(f"first difference: {verdict.difference.what}")
    return [*lines, *(f"    {side:<6}  {place(each) or '-'}  {each.text}" for side, each in sides(verdict.difference))]


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for text in lines for line in text.splitlines()]
