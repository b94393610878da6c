"""What decorators make of a function of the project, and what those of libraries do besides calling it."""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.lower.text import dotted
from scanify.analysis.values import tables
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.domain import (
    Array,
    Function,
    Key,
    Library,
    Listed,
    Method,
    Unknown,
    Value,
    join,
    options,
)
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import MAX_DEPTH, Interpreter

Named = Mapping[str, Value]
_WITH_RULES = ("custom_jvp", "custom_vjp", "filter_custom_jvp", "filter_custom_vjp", "custom_vmap")
_CACHES = ("lru_cache", "cache")


def decorators_of(run: Interpreter, env: Env, node: ast.AST, function: Function) -> list[Value]:
    """The decorators of a function whose bodies the project has, the innermost first; others are noted."""
    found: list[Value] = []
    for decorator in reversed(getattr(function.node, "decorator_list", ())):
        inner = decorator.func if isinstance(decorator, ast.Call) else decorator
        with run.recording():
            meaning = evaluate(run, function.env, inner)
        if isinstance(meaning, Library):
            last = meaning.qualname.rpartition(".")[2]
            if meaning.qualname == "functools.partial" and isinstance(decorator, ast.Call) and decorator.args:
                with run.recording():
                    meaning = evaluate(run, function.env, decorator.args[0])
            known = isinstance(meaning, Library) and meaning.qualname in tables.CALLERS | tables.DECORATORS
            if last.startswith("singledispatch"):
                run.effect(Act.UNKNOWN, f"what is registered for {function.name}", node, env)
            if known or last in (*_CACHES, "contextmanager"):
                note_rules(run, env, node, function, meaning.qualname if isinstance(meaning, Library) else "")
                continue
        elif isinstance(meaning, Method | Unknown) and ast.unparse(inner).rpartition(".")[2] in ("setter", "getter"):
            continue
        elif isinstance(meaning, Function):
            found.append(evaluate(run, function.env, decorator) if inner is not decorator else meaning)
            continue
        run.effect(Act.UNKNOWN, f"{function.name} through its decorator", node, env)
    return found


def through_decorators(
    run: Interpreter,
    env: Env,
    node: ast.AST,
    function: Function,
    decorators: Sequence[Value],
    positional: Sequence[Value],
    named: Named,
) -> Value:
    """What calling a decorated function gives: that which its decorators make of it is called."""
    from scanify.analysis.values.calls.calls import call

    made: Value = replace(function, bound=None, bare=True)
    for decorator in decorators:
        made = call(run, env, node, decorator, [made], {})
    bound = [function.bound] if function.bound is not None else []
    values = [call(run, env, node, option, [*bound, *positional], named) for option in options(made)]
    return join(values)


def note_rules(run: Interpreter, env: Env, node: ast.AST, function: Function, transform: str) -> None:
    """Note that rules stand in for the derivatives or batches of a function whose transformation `transform` is.

    They are not followed: jax runs them once for a scan. They may ask what is batched or differentiated, and the carry
    of a scan is so in its first layer already where it is in any (`_scan_batching_rule` and `_scan_jvp` of jax).
    """
    if transform.rpartition(".")[2] in _WITH_RULES:
        run.effect(Act.UNKNOWN, f"the rules of {function.name}", node, env)


def note_kept(run: Interpreter, env: Env, node: ast.AST, function: Function, value: Value) -> None:
    """Note that a function keeps what it gave, where that may be arrays of jax."""
    if not function.bare and _is_cached(function) and _may_be_tracers(value):
        run.effect(Act.REMEMBERS, function.name, node, env)


def _is_cached(function: Function) -> bool:
    decorators = getattr(function.node, "decorator_list", ())
    names = (dotted(each.func if isinstance(each, ast.Call) else each) or "" for each in decorators)
    return any(name.rpartition(".")[2] in _CACHES for name in names)


def _may_be_tracers(value: Value, depth: int = 0) -> bool:
    """Whether arrays of jax may be in a value, which are tracers where jax traces what makes them."""
    for option in options(value):
        held = [group.element for group in option.cell.groups] if isinstance(option, Listed) else []
        if isinstance(option, Unknown | Key) or (isinstance(option, Array) and not option.numpy):
            return True
        if depth < MAX_DEPTH and any(_may_be_tracers(each, depth + 1) for each in held):
            return True
    return False
