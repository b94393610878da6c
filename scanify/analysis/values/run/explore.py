"""Exploration: running every function of the project that may build, hold or use some list of layers.

Each is run once with what its annotations say of its parameters; functions that are made inside of others and never
called there are run too. What is seen on the way is noted at the sites of the heap and at the probes.
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.values.calls.attributes import class_env
from scanify.analysis.values.calls.calls import call_function
from scanify.analysis.values.calls.construct import any_instance, argument_of
from scanify.analysis.values.code.flow import Flow
from scanify.analysis.values.code.statements import execute
from scanify.analysis.values.domain import Class, Function, Instance, Unknown, Value
from scanify.analysis.values.mentions import mentioned_in
from scanify.analysis.values.named_code import FunctionNode, functions_in
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter
from scanify.analysis.values.run.probe import Probe

_INNER = 8  # functions that functions make that functions make
CONSTRUCTORS = frozenset({"__init__", "__post_init__", "__check_init__"})


@dataclass(frozen=True, eq=False)
class Code:
    """A function of a file, or a method of a class at its top level."""

    module: Module
    node: FunctionNode
    owner: Definition | None = None

    @cached_property
    def words(self) -> frozenset[str]:
        """The identifiers that its code mentions; kept with the tree, which may outlive this run."""
        known: frozenset[str] | None = getattr(self.node, "_mentioned", None)
        if known is None:
            known = self.node._mentioned = mentioned_in(self.node)  # type: ignore[union-attr]
        return known


def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")


def functions_of(module: Module) -> Iterator[Code]:
    """The functions at the top level of a file and the methods of its classes."""
    for statement in _top_level(module.tree.body):
        if isinstance(statement, ast.ClassDef):
            definition = Definition(module, statement.name, statement)
            for method in functions_in(statement.body):
                yield Code(module, method, definition)
        else:
            yield Code(module, statement)


def _top_level(body: Iterable[ast.stmt]) -> Iterator[FunctionNode | ast.ClassDef]:
    for statement in body:
        if isinstance(statement, FunctionNode | ast.ClassDef):
            yield statement
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _top_level([*statement.body, *getattr(statement, "orelse", [])])


class Explorer:
    """Runs functions by what they mention, each once."""

    def __init__(self, run: Interpreter) -> None:
        self.run = run
        self._done: set[ast.AST] = set()
        self._modules: set[object] = set()
        self._functions: dict[object, tuple[Code, ...]] = {}

    def probe(self, nodes: Iterable[ast.AST], function: ast.AST | None) -> None:
        """Note what the names stand for wherever some nodes of a function are reached."""
        for node in nodes:
            self.run.probes.setdefault(node, Probe([]))
        if function is not None:
            self.run.probed.add(function)

    def envs(self, node: ast.AST) -> list[Env]:
        """What the names stood for where a node was reached."""
        probe = self.run.probes.get(node)
        return list(probe.envs) if probe is not None else []

    def functions(self, module: Module) -> tuple[Code, ...]:
        """The functions and methods of a file."""
        if module.path not in self._functions:
            self._functions[module.path] = tuple(functions_of(module))
        return self._functions[module.path]

    def function_at(self, module: Module, line: int) -> Code | None:
        """The function or method of a file that a line stands in; None for one outside of them."""
        functions = self.functions(module)
        before = bisect_right(functions, line, key=lambda code: code.node.lineno)
        if before and line <= (functions[before - 1].node.end_lineno or 0):
            return functions[before - 1]
        return None

    def mentioning(self, word: str) -> Iterator[Code]:
        """The functions of the project that mention an identifier."""
        for module in self.run.index.modules_with(word):
            yield from (code for code in self.functions(module) if word in code.words)

    def explore(self, words: Iterable[str]) -> None:
        """Run every function of the project that mentions one of some identifiers."""
        for word in sorted(set(words)):
            pattern = _whole(word)
            for module in self.run.index.modules_with(word):
                for code in self.functions(module):
                    if code.node not in self._done and word in code.words:
                        self.run_code(code)
                self._top_level(module, pattern)

    def explore_again(self, words: Iterable[str]) -> None:
        """Run every function that mentions one of some identifiers once more: what they stand for is known better."""
        for word in words:
            for module in self.run.index.modules_with(word):
                self._modules.discard(module.path)
                self._done -= {code.node for code in self.functions(module) if word in code.words}
        self.explore(words)

    def run_again_where_guessed(self) -> None:
        """Let the functions be run once more that asked for an attribute before there was a guess at what it holds."""
        run = self.run
        for name in run.guesses.keys() & run.unguessed.keys():
            for place in run.unguessed.pop(name):
                module = run.index.module_at(place.path)
                code = self.function_at(module, place.span.line) if module is not None else None
                if code is not None:
                    self._done.discard(code.node)

    def classes_with(self, word: str) -> Iterator[Definition]:
        """The classes at the top level of the project's files that mention an identifier."""
        pattern = _whole(word)
        for module in self.run.index.modules_with(word):
            for name, statements in module.definitions.items():
                for node in statements:
                    if isinstance(node, ast.ClassDef) and pattern.search(module.code(node)):
                        yield Definition(module, name, node)

    def run_code(self, code: Code) -> None:
        """Run one function with what its annotations say of its parameters."""
        if code.node in self._done:
            return
        self._done.add(code.node)
        run = self.run
        before = len(run.closures)
        with run.question(), run.recording():
            if code.owner is not None and code.node.name in CONSTRUCTORS:
                any_instance(run, code.owner, "self")
            else:
                self._call(code)
        self._left_over(before)
        if code.owner is None:
            self._inner_classes(code)

    def _inner_classes(self, code: Code) -> None:
        """Run the methods of the classes that a function defines."""
        first, last = code.node.lineno, code.node.end_lineno or code.node.lineno
        for definition, env in list(self.run.inner_classes.values()):
            if env.module is code.module and first <= definition.node.lineno <= last:
                for method in self.run.classes.methods(definition).values():
                    self.run_code(Code(code.module, method, definition))

    def _call(self, code: Code) -> None:
        run, args = self.run, code.node.args
        bound: Value | None = None
        env = run.module_env(code.module)
        names = {ast.unparse(each).rpartition(".")[2] for each in code.node.decorator_list}
        if code.owner is not None:
            env = class_env(run, code.owner)
            bound = any_instance(run, code.owner, "self") if "staticmethod" not in names else None
            bound = Class(code.owner) if "classmethod" in names else bound
        parameters = [*args.posonlyargs, *args.args][1 if bound is not None else 0 :]
        home = env if code.owner is not None else run.module_env(code.module)
        named = {each.arg: argument_of(run, home, each, args) for each in (*parameters, *args.kwonlyargs)}
        call_function(run, env, code.node, Function(code.node, env, bound), [], named)

    def _left_over(self, before: int) -> None:
        """Run the functions that were made on the way and not called."""
        run = self.run
        for _ in range(_INNER + 1):
            waiting = [each for each in run.closures[before:] if each.node not in run.executed]
            if not waiting:
                break
            for function in waiting:
                run.executed.add(function.node)
                args = function.node.args
                parameters = [*args.posonlyargs, *args.args, *args.kwonlyargs]
                with run.question(), run.recording():
                    named = {each.arg: argument_of(run, function.env, each, args) for each in parameters}
                    call_function(run, function.env, function.node, function, [], named)
        else:
            run.capped[f"functions in functions are run {_INNER} deep"] = None
        del run.closures[before:]

    def _top_level(self, module: Module, pattern: re.Pattern[str]) -> None:
        """Run the statements at the top level of a file that mention a word."""
        if module.path in self._modules:
            return
        statements = [
            each
            for each in module.tree.body
            if not isinstance(each, FunctionNode | ast.ClassDef | ast.Import | ast.ImportFrom)
        ]
        if not any(pattern.search(module.code(each)) for each in statements):
            return
        self._modules.add(module.path)
        before = len(self.run.closures)
        with self.run.question(), self.run.recording():
            execute(self.run, Env(module), statements, Flow())
        self._left_over(before)


def model_list(run: Interpreter, cls: Definition, attribute: str) -> Value:
    """What any instance of a class has under an attribute."""
    model = any_instance(run, cls, "self")
    if not isinstance(model, Instance):
        return Unknown(f"`{cls.name}` is not shown")
    return model.fields.get(attribute, Unknown(f"`{cls.name}` is not shown to have `{attribute}`"))
