"""What the interpreter of values makes of expressions where some calls are reached."""

import ast
from collections.abc import Iterable

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.domain import Const, Value, options
from scanify.analysis.values.environment import Env
from scanify.analysis.values.explore import Explorer
from scanify.analysis.values.interpreter import Interpreter
from scanify.analysis.values.probe import again


class Numbers:
    """Runs the functions around some calls, when something is asked about one of them."""

    def __init__(self, index: Index, calls: Iterable[tuple[Module, ast.expr]]) -> None:
        self._index = index
        self._calls = list(calls)
        self._explorer: Explorer | None = None

    def at(self, module: Module, call: ast.expr, part: ast.expr) -> tuple[Value, ...]:
        """What an expression may be where a call is reached; nothing where that is not known."""
        explorer = self._run()
        run = explorer.run
        if not any(isinstance(each, FUNCTIONS) for each in ancestors(module, call)):
            with run.question(), run.recording():
                return tuple(options(evaluate(run, Env(module), part)))
        found: list[Value] = []
        for env in explorer.envs(call):
            with run.question(), run.recording():
                found += options(again(run, env, part))
        return tuple(found)

    def number(self, module: Module, call: ast.expr, part: ast.expr) -> int | None:
        """The whole number that an expression is wherever a call is reached."""
        if isinstance(part, ast.Constant):
            return part.value if type(part.value) is int else None
        found = {each.value if isinstance(each, Const) else None for each in self.at(module, call, part)}
        number = next(iter(found)) if len(found) == 1 else None
        return number if type(number) is int else None

    def _run(self) -> Explorer:
        if self._explorer is None:
            self._explorer = explorer = Explorer(Interpreter(self._index))
            codes = []
            for module, call in self._calls:
                code = explorer.function_at(module, getattr(call, "lineno", 0))
                explorer.probe([call], code.node if code is not None else None)
                explorer.run.probed |= {each for each in ancestors(module, call) if isinstance(each, FUNCTIONS)}
                codes += [code] if code is not None else []
            for code in codes:
                explorer.run_code(code)
        return self._explorer
