"""The places where a list of layers could be stacked, or the reason why it stays a list and each call stacks it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from scanify.analysis.flow.statements import blocks_in
from scanify.analysis.index.module import Module
from scanify.analysis.language.tables import LIST_TYPES
from scanify.analysis.lists.fields import FieldFacts, keeps_otherwise, related_to
from scanify.analysis.lists.home import Home, is_none
from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.lists.reader import is_placeholder
from scanify.analysis.lists.statements import Grown, Other, Put, statements_about
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Function
from scanify.analysis.lower.text import dotted, unquoted
from scanify.analysis.stack import After, Annotation, CallStack, Wrap

_CHANGED = "the list is changed under another name after it is assigned"


def with_sites(layers: LayerList, facts: FieldFacts) -> LayerList:
    """Add the places where the list of a field can be stacked, unless something already keeps it a list."""
    kept = keeps_otherwise(facts.project, facts.owner, facts.attribute)
    found = _field_sites(facts)
    if kept is not None and not facts.parameter:
        return replace(layers, refusal=("SCN214", *kept))
    if isinstance(found, CallStack):
        refusal = ("SCN214", found.reason, found.at) if found.reason == _CHANGED else None
        return replace(layers, in_call=layers.in_call or found, refusal=refusal)
    if layers.in_call is not None:
        return layers
    classes = related_to(facts.project, facts.owner)
    fields = ((cls.module, each) for cls in classes for each in getattr(cls.node, "body", ()))
    annotations = (
        annotation
        for module, each in fields
        if isinstance(each, ast.AnnAssign) and dotted(each.target) == facts.attribute
        for annotation in _annotation(module, each.annotation)
    )
    return replace(layers, sites=tuple(dict.fromkeys(found)), annotations=tuple(dict.fromkeys(annotations)))


def _field_sites(facts: FieldFacts) -> list[Wrap | After] | CallStack:
    if facts.parameter:
        return CallStack(f"the callers of `{facts.owner.name}` give the list")
    if facts.others:
        return CallStack(facts.others[0].text, facts.others[0].place, "SCN214")
    if facts.constructor is None:
        return CallStack("the source does not show where the list is built")
    return _sites_in(*facts.constructor)


def _sites_in(home: Home, function: Function, target: str) -> list[Wrap | After] | CallStack:
    module, body = home.module, function.body
    about = statements_about(home, body, target)
    other = next((each for each in about if isinstance(each, Other)), None)
    if other is not None:
        return CallStack(other.text, module.place(other.node))
    grown = [each for each in about if isinstance(each, Grown)]
    puts = [each for each in about if isinstance(each, Put) and each not in grown]
    real = [each for each in puts if not is_placeholder(home, each.value)] if len(puts) > 1 else []
    if len(real) > 1:
        return CallStack("the list is filled in several places", module.place(real[1].statement))
    sites: list[Wrap | After] = []
    for put in puts:
        later = [each for each in grown if each.statement.lineno > put.statement.lineno]
        changed = _changed_later(home, body, put) if not later else None
        if later:
            statement = _statement_around(body, put.statement, later[-1].statement)
            if statement is None:
                text = "the list is made in one block and filled in another: there is no one place to stack it"
                return CallStack(text, module.place(later[-1].statement))
            line = module.span(statement).line
            indent = module.text[module.line_start(line) : module.span(statement).start]
            sites.append(After(module.place(statement), target, indent))
        elif changed is not None:
            return CallStack(_CHANGED, module.place(changed))
        elif isinstance(put.value, ast.IfExp) and any(map(is_none, nodes_in(put.value))):
            return CallStack("the list may be None", module.place(put.value))
        elif not is_none(put.value):
            sites.append(Wrap(module.place(put.value)))
    return sites


def _changed_later(home: Home, body: Sequence[ast.stmt], put: Put) -> ast.stmt | None:
    """Return a statement that changes the assigned local list after the assignment, which aliases it."""
    names = {each.id for each in nodes_in(put.value) if isinstance(each, ast.Name) and home.is_local(each)}
    for each in (about for name in names for about in statements_about(home, body, name)):
        if isinstance(each, Grown):
            again = any(loop in put.loops for loop in each.loops)  # earlier in the source, but later in time
            if again or each.statement.lineno > put.statement.lineno:
                return each.statement
    return None


def _statement_around(body: Sequence[ast.stmt], first: ast.stmt, last: ast.stmt) -> ast.stmt | None:
    """Return the statement in the block of `first` that is or contains `last`."""
    block = next((block for block in blocks_in(body) if any(each is first for each in block)), ())
    return next((each for each in block if any(part is last for part in nodes_in(each))), None)


def _annotation(module: Module, annotation: ast.expr) -> Iterator[Annotation]:
    """Yield the annotation of the field that holds the list, if it names a list type."""
    plain = unquoted(annotation)
    last = (dotted(plain.value if isinstance(plain, ast.Subscript) else plain) or "").rpartition(".")[2]
    if last in LIST_TYPES:
        inner = plain.slice if isinstance(plain, ast.Subscript) else None
        inner = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
        quoted = isinstance(annotation, ast.Constant)
        text = None if inner is None else ast.unparse(inner) if quoted else module.code(inner)
        yield Annotation(module.place(annotation), text)
