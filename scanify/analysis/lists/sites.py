"""The places where a list of layers could be stacked, or the reason why it stays a list that each call stacks."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.flow.statements import blocks_in
from scanify.analysis.index.module import Module
from scanify.analysis.lists.contents import is_none, is_placeholder
from scanify.analysis.lists.declared import LIST_TYPES
from scanify.analysis.lists.fields import FieldFacts, keeps_otherwise, related_to
from scanify.analysis.lists.home import Home, branches
from scanify.analysis.lists.layer_list import Reason
from scanify.analysis.lists.statements import Grown, Other, Put, statements_about
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted, unquoted
from scanify.analysis.stack import After, Annotation, CallStack, Wrap

_CHANGED = "the list is changed under another name after it is assigned"


@dataclass(frozen=True)
class Sites:
    """The places where a list can be stacked and the annotations of what holds it.

    `in_call` says why there are none, `refusal` why the list can be stacked nowhere.
    """

    sites: tuple[Wrap | After, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    in_call: CallStack | None = None
    refusal: Reason | None = None


def field_sites(facts: FieldFacts) -> Sites:
    """Return the sites of a list that a field holds."""
    project = facts.project
    if facts.parameter:
        return Sites(in_call=CallStack(f"the callers of `{facts.owner.name}` give the list"))
    kept = keeps_otherwise(project, facts.owner, facts.attribute)
    if kept is not None:
        return Sites(refusal=("SCN214", *kept))
    constructor = facts.constructor
    if facts.others:
        return Sites(in_call=CallStack(facts.others[0].text, facts.others[0].place, "SCN214"))
    if constructor is None:
        return Sites(in_call=CallStack("the source does not show where the list is built"))
    found = _sites_in(constructor.home, constructor.function.body, constructor.target)
    if isinstance(found, CallStack):
        changed = found.reason == _CHANGED
        return Sites(in_call=found, refusal=("SCN214", found.reason, found.at) if changed else None)
    annotations = (
        annotation
        for cls in related_to(project, facts.owner)
        for statement in (cls.node.body if isinstance(cls.node, ast.ClassDef) else ())
        if isinstance(statement, ast.AnnAssign) and dotted(statement.target) == facts.attribute
        for annotation in _annotation(cls.module, statement.annotation)
    )
    return Sites(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(annotations)))


def _sites_in(home: Home, body: Sequence[ast.stmt], target: str) -> list[Wrap | After] | CallStack:
    module = home.module
    about = statements_about(home, body, target)
    for each in about:
        if isinstance(each, Other):
            return CallStack(each.text, module.place(each.node))
    grown = [each for each in about if isinstance(each, Grown)]
    puts = [each for each in about if isinstance(each, Put)]
    real = [each for each in puts if not is_placeholder(home, each.value)] if len(puts) > 1 else []
    if len(real) > 1:
        return CallStack("the list is filled in several places", module.place(real[1].statement))
    sites: list[Wrap | After] = []
    for put in puts:
        later = [each for each in grown if _is_behind(each.statement, put.statement)]
        if later:
            statement = _statement_around(body, put.statement, later[-1].statement)
            if statement is None:
                text = "the list is made in one block and filled in another: there is no one place to stack it"
                return CallStack(text, module.place(later[-1].statement))
            line = module.span(statement).line
            indent = module.text[module.line_start(line) : module.span(statement).start]
            sites.append(After(module.place(statement), target, indent))
            continue
        changed = _changed_later(home, body, put)
        if changed is not None:
            return CallStack(_CHANGED, module.place(changed))
        if isinstance(put.value, ast.IfExp) and any(map(is_none, branches(put.value))):
            return CallStack("the list may be None", module.place(put.value))
        if not is_none(put.value):
            sites.append(Wrap(module.place(put.value)))
    return sites


def _is_behind(statement: ast.stmt, other: ast.stmt) -> bool:
    return statement.lineno > other.lineno


def _changed_later(home: Home, body: Sequence[ast.stmt], put: Put) -> ast.stmt | None:
    """The statement that changes the local list that is assigned, after the assignment: both are one list."""
    names = {each.id for each in nodes_in(put.value) if isinstance(each, ast.Name) and home.is_local(each)}
    for each in (about for name in names for about in statements_about(home, body, name)):
        again = any(loop in put.loops for loop in getattr(each, "loops", ()))  # before in the text, after in time
        if isinstance(each, Grown) and (again or _is_behind(each.statement, put.statement)):
            return each.statement
    return None


def _statement_around(body: Sequence[ast.stmt], first: ast.stmt, last: ast.stmt) -> ast.stmt | None:
    """The statement of the block of `first` that is or holds `last`."""
    for block in blocks_in(body):
        if any(each is first for each in block):
            return next((each for each in block if any(part is last for part in nodes_in(each))), None)
    return None


def _annotation(module: Module, annotation: ast.expr) -> Iterator[Annotation]:
    """The annotation of what holds the list, if it names a list type."""
    plain = unquoted(annotation)
    last = (dotted(plain.value if isinstance(plain, ast.Subscript) else plain) or "").rpartition(".")[2]
    if last in LIST_TYPES:
        inner = plain.slice if isinstance(plain, ast.Subscript) else None
        inner = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
        quoted = isinstance(annotation, ast.Constant)
        text = None if inner is None else ast.unparse(inner) if quoted else module.code(inner)
        yield Annotation(module.place(annotation), text, quoted)
