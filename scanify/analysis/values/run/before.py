"""What is there before the code that is run: what names of a file, defaults and constants of classes stand for."""

import ast
from typing import TYPE_CHECKING

from scanify.analysis.values.domain import Array, Instance, Listed, Mapped, Value
from scanify.analysis.values.replace import replace

if TYPE_CHECKING:
    from scanify.analysis.values.run.environment import Env
    from scanify.analysis.values.run.interpreter import Interpreter

EVER = 1  # the first moment of a run


def from_before(value: Value) -> Value:
    """A value as it is everywhere: an array is one and the same object whenever its name is asked for."""
    if isinstance(value, Listed | Mapped):
        value.cell.lasts = True
    return replace(value, born=EVER) if isinstance(value, Array) else value


def made_once(run: "Interpreter", env: "Env", node: ast.expr) -> Value:
    """The value of a default or of a constant of a class, which is made where the function or the class is.

    There is one object of it: what one call puts into a list the next one finds.
    """
    from scanify.analysis.values.code.expressions import evaluate

    if env.function is None and node in run.lasting:
        return run.lasting[node]
    with run.recording(), run.elsewhere():
        value = from_before(evaluate(run, env, node))
    if isinstance(value, Instance | Mapped) or (isinstance(value, Listed) and not value.cell.is_tuple):
        run.lasting[node] = value
    return value
