"""Patterns: what `match` asks of objects."""

import ast

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.calls.attributes import attribute
from scanify.analysis.values.code.expressions import evaluate, tested
from scanify.analysis.values.code.flow import Flow
from scanify.analysis.values.domain import Unknown, Value
from scanify.analysis.values.objects.protocols import asked, class_asked, data_of
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def match_statement(run: Interpreter, env: Env, node: ast.Match, flow: Flow) -> bool:
    """A `match` statement, of which any case may be the one that is run."""
    from scanify.analysis.values.code.statements import branches

    subject = evaluate(run, env, node.subject)
    for case in node.cases:
        for each in nodes_in(case.pattern):
            name = getattr(each, "name", None) or getattr(each, "rest", None)
            if isinstance(name, str):
                data = data_of(run, [subject])
                env.bind(name, Unknown("a name that `case` binds is not followed", marks=subject.marks, data=data))
            _ask_pattern(run, env, each, subject)
        if case.guard is not None:
            with run.region():
                tested(run, env, case.guard, evaluate(run, env, case.guard))
    return branches(run, env, [*(case.body for case in node.cases), []], flow, subject)


def _ask_pattern(run: Interpreter, env: Env, pattern: ast.AST, subject: Value) -> None:
    """Run what a pattern asks of objects: of what is matched, or of a part of it, which may be any."""
    match pattern:
        case ast.MatchValue(value=value):
            asked(run, env, pattern, [subject, evaluate(run, env, value)], ("__eq__",))
        case ast.MatchClass(cls=cls, kwd_attrs=names):
            class_asked(run, env, pattern, evaluate(run, env, cls))
            for name in names:
                attribute(run, env, pattern, subject, name)
        case ast.MatchSequence() | ast.MatchMapping():
            asked(run, env, pattern, [subject], ("__len__", "__iter__", "__getitem__"))
