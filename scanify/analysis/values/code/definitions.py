"""Statements that define or import names, and those that take them away."""

import ast

from scanify.analysis.index.bindings import Import
from scanify.analysis.index.meaning import Definition, External, Meaning, Package
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.calls.methods import changed
from scanify.analysis.values.calls.module_attributes import answered
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.domain import Class, Function, Library, Listed, Mapped, Unknown, Value, options
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def function_statement(run: Interpreter, env: Env, node: ast.FunctionDef | ast.AsyncFunctionDef, flow: object) -> bool:
    made = Function(node, env, fresh=run.tick() if env.function is not None else 0)
    run.closures.append(made)
    if env.function is not None:
        _evaluate_head(run, env, node)
    env.bind(node.name, made)
    return False


def _evaluate_head(run: Interpreter, env: Env, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Evaluate what a function statement does: decorators, defaults, and annotations that call something."""
    arguments = node.args
    defaults = (*arguments.defaults, *(each for each in arguments.kw_defaults if each is not None))
    named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    declared = (*(each.annotation for each in named), node.returns)
    calling = (
        each for each in declared if each is not None and any(isinstance(one, ast.Call) for one in nodes_in(each))
    )
    for part in (*node.decorator_list, *defaults, *calling):
        evaluate(run, env, part)


def class_statement(run: Interpreter, env: Env, node: ast.ClassDef, flow: object) -> bool:
    definition = Definition(env.module, node.name, node)
    if env.function is not None:
        run.inner_classes.setdefault(node, (definition, env))
        run.effect(Act.UNKNOWN, f"class {node.name}", node, env)  # its body, decorators and metaclass are not run
    # One that a function makes is another class each time.
    env.bind(node.name, Class(definition, run.ambient(node.name) if env.function is not None else ()))
    return False


def delete_statement(run: Interpreter, env: Env, node: ast.Delete, flow: object) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            owner = evaluate(run, env, target.value)
            evaluate(run, env, target.slice)
            for option in options(owner):
                if isinstance(option, Listed | Mapped):
                    changed(run, env, option.cell, target, f"del {env.code(target)}")
                else:
                    run.effect(Act.WRITE, env.code(target), target, env)
        elif isinstance(target, ast.Attribute):
            run.effect(Act.WRITE, env.code(target), target, env)
        elif isinstance(target, ast.Name):
            env.names.pop(target.id, None)
    return False


def global_statement(run: Interpreter, env: Env, node: ast.Global | ast.Nonlocal, flow: object) -> bool:
    if isinstance(node, ast.Global):
        env.global_names |= set(node.names)
    else:
        env.outer_names |= set(node.names)
        run.changes.oldest = 0  # by each call
        run.effect(Act.WRITE, ", ".join(node.names), node, env)
    return False


def _imported(run: Interpreter, env: Env, node: ast.AST, name: str, meaning: Meaning | None, imported: Import) -> Value:
    """What an import in a function binds that is no definition: a module, or what one says of a name."""
    unknown = Unknown(f"`{name}` is imported in the function")
    if isinstance(meaning, Package):
        answered(run, env, node, meaning, "")  # whatever is read of it
        return unknown
    path, _, last = imported.target.rpartition(".")
    module = run.index.resolve_absolute(env.module, path, relative=imported.relative) if path else None
    return answered(run, env, node, module, last) or unknown


def import_statement(run: Interpreter, env: Env, node: ast.Import | ast.ImportFrom, flow: object) -> bool:
    for name, each in env.module.imported(node).items():
        meaning = run.index.resolve_absolute(env.module, each.target, relative=each.relative)
        if isinstance(meaning, External):
            env.bind(name, Library(meaning.qualname))
        elif isinstance(meaning, Definition):
            env.bind(name, run.defined(meaning))
        else:
            env.bind(name, _imported(run, env, node, name, meaning, each))
    return False
