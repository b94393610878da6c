"""`scanify check --format junit`: JUnit XML with one suite per file and one test per finding."""

from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from scanify.report.findings.finding import Finding, Findings, Level
from scanify.report.visible import visible

_KINDS = {Level.ERROR: "error", Level.WARNING: "failure", Level.NOTE: "skipped"}


def render(found: Findings) -> str:
    """Report a loop that can be rewritten as a failure, any other loop as skipped, and an unreadable file as an error.

    If nothing was found, the document has one passing test, since many readers reject a document without tests.
    """
    root = Element("testsuites", name="scanify check")
    for path, each in groupby(found.items, key=lambda one: found.uri(one.mark)):
        root.append(_suite(visible(path), found, list(each)))
    if not found.items:
        suite = SubElement(root, "testsuite", name="scanify", tests="1", failures="0", errors="0", skipped="0")
        SubElement(suite, "testcase", classname="scanify", name=found.sentence())
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(path: str, found: Findings, items: list[Finding]) -> Element:
    suite = Element("testsuite", name=path, tests=str(len(items)))
    for count, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(sum(_KINDS[each.level] == kind for each in items)))
    for each in items:
        test = SubElement(suite, "testcase", classname=path, name=f"{each.rule} at {each.mark.named}")
        test.set("line", str(each.mark.line))
        told = SubElement(test, _KINDS[each.level], message=visible(each.message))
        lines = [f"{found.where(each)}: {each.message}", *(f"{kind}: {text}" for kind, text in each.hints)]
        told.text = visible("\n".join(lines))
        if each.level is not Level.NOTE:
            told.set("type", each.rule)
    return suite
