"""What runs where an attribute of a module is read that it does not bind: its `__getattr__` (PEP 562)."""

import ast

from scanify.analysis.index.meaning import Definition, Meaning, Package
from scanify.analysis.values.domain import Const, Function, Value
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

_MISSING = "__getattr__"


def of_module(run: Interpreter, env: Env, node: ast.AST, dotted: str) -> Value | None:
    """What the module of `module.name` says of the name; None where it is not asked."""
    path, _, name = dotted.rpartition(".")
    return answered(run, env, node, run.index.resolve(env.module, path), name)


def answered(run: Interpreter, env: Env, node: ast.AST, of: Meaning | None, name: str) -> Value | None:
    """What a module says of a name that it does not bind; None where it is not asked."""
    from scanify.analysis.values.calls.calls import call

    module = of.module if isinstance(of, Package) else None
    if module is None or module.binds(name):
        return None
    asked = run.index.resolve(module, _MISSING)
    if not isinstance(asked, Definition) or asked.node in run.calling:
        return None
    value = run.defined(asked)
    return call(run, env, node, value, [Const(name)], {}) if isinstance(value, Function) else None
