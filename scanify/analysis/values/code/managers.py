"""Context managers: what `with` gives, and what is run as it is entered and left."""

import ast

from scanify.analysis.index.meaning import Definition
from scanify.analysis.values import tables
from scanify.analysis.values.code.expressions import call_method, evaluate
from scanify.analysis.values.code.flow import Flow
from scanify.analysis.values.code.targets import bind_target
from scanify.analysis.values.domain import Instance, Library, Unknown, Value, Walked, join, options
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def with_statement(run: Interpreter, env: Env, node: ast.With | ast.AsyncWith, flow: Flow) -> bool:
    """A `with` statement: what its managers do before its body and behind it."""
    from scanify.analysis.values.code.statements import execute

    managers: list[tuple[ast.expr, Value]] = []
    for item in node.items:
        done = len(run.effects)
        value = evaluate(run, env, item.context_expr)
        managers.append((item.context_expr, value))
        given = join(_entered(run, env, item.context_expr, option) for option in options(value))
        if item.optional_vars is not None:
            bind_target(run, env, item.optional_vars, run.churned.given(given, run.effects[done:]))
    over = execute(run, env, node.body, flow)
    raised_there = Unknown("what the body of `with` raises")
    for expression, value in reversed(managers):
        for option in options(value):
            if isinstance(option, Instance) and isinstance(option.cls, Definition):
                name = "__exit__" if "__exit__" in run.classes.special_methods(option.cls) else "__aexit__"
                call_method(run, env, expression, option, name, [raised_there] * 3)
    return over


def _entered(run: Interpreter, env: Env, node: ast.expr, manager: Value) -> Value:
    """What a context manager gives as it is entered."""
    match manager:
        case Instance(cls=Definition() as cls):
            name = "__enter__" if "__enter__" in run.classes.special_methods(cls) else "__aenter__"
            return call_method(run, env, node, manager, name, [])
        case Walked():  # of a generator that is made a manager
            return Unknown("what a context manager gives")
        case Library(qualname=name) if name in tables.MANAGERS:
            return Unknown("what a context manager gives")
        case _:
            run.effect(Act.UNKNOWN, f"with {env.code(node)}", node, env)
    return manager
