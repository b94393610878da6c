"""What the interpreter of values makes of expressions where some calls are reached."""

import ast
from collections.abc import Iterable

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.domain import Const, Value, options
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.explore import Code, Explorer
from scanify.analysis.values.run.interpreter import Interpreter
from scanify.analysis.values.run.probe import again
from scanify.analysis.watchers.names import local_scope


class Numbers:
    """Runs the functions around some calls, each when something is asked about one of its calls.

    The run is shallow: what is called is taken at what it declares. A number that a function of the project gives, or a
    caller, is none that holds however the code is reached.
    """

    def __init__(self, index: Index) -> None:
        self._explorer = Explorer(Interpreter(index, shallow=True))
        self._calls: dict[ast.AST, list[ast.expr]] = {}

    def ask_at(self, module: Module, calls: Iterable[ast.expr]) -> None:
        """Something may be asked about what stands in these calls."""
        for call in calls:
            if (code := self._code(module, call)) is not None:
                self._calls.setdefault(code.node, []).append(call)

    def at(self, module: Module, call: ast.expr, part: ast.expr) -> tuple[Value, ...]:
        """What an expression may be where a call is reached; nothing where that is not known."""
        run, code = self._explorer.run, self._code(module, call)
        if code is None:
            with run.question(), run.recording():
                return tuple(options(evaluate(run, Env(module), part)))
        self._run(module, code)
        found: list[Value] = []
        for env in self._explorer.envs(call):
            with run.question(), run.recording():
                found += options(again(run, env, part))
        return tuple(found)

    def number(self, module: Module, call: ast.expr, part: ast.expr) -> int | None:
        """The whole number that an expression is wherever a call is reached."""
        if isinstance(part, ast.Constant):
            return part.value if type(part.value) is int else None
        if not _may_be_known(module, part):
            return None
        found = {each.value if isinstance(each, Const) else None for each in self.at(module, call, part)}
        number = next(iter(found)) if len(found) == 1 else None
        return number if type(number) is int else None

    def _code(self, module: Module, call: ast.expr) -> Code | None:
        return self._explorer.function_at(module, call.lineno)

    def _run(self, module: Module, code: Code) -> None:
        """Run a function with probes at all of its calls that something may be asked about."""
        calls = self._calls.pop(code.node, ())
        if calls:
            self._explorer.probe(calls, code.node)
            for call in calls:
                self._explorer.run.probed |= {each for each in ancestors(module, call) if isinstance(each, FUNCTIONS)}
            self._explorer.run_code(code)


def _may_be_known(module: Module, part: ast.expr) -> bool:
    """Whether an expression may be one number however it is reached: nothing in it is given by a caller."""
    for each in nodes_in(part):
        if isinstance(each, ast.Attribute | ast.Subscript | ast.Call):
            return False
        if isinstance(each, ast.Name):
            scope = local_scope(module, each, each.id)
            if scope is not None and each.id in scope.params:
                return False
    return True
