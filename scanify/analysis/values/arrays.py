"""Arrays: what operations on them give, and where Python asks for their values."""

import ast
from collections.abc import Sequence

from scanify.analysis.values.domain import Array, Const, Marks, Number, Value, merged
from scanify.analysis.values.effects import Act
from scanify.analysis.values.environment import Env
from scanify.analysis.values.interpreter import Interpreter


def of_arrays(values: Sequence[Value], marks: Marks) -> Array:
    """What an operation on arrays and numbers gives: an array of numpy where no side may be a tracer."""
    arrays = [value for value in values if isinstance(value, Array)]
    plain = all(isinstance(value, Number | Const) or (isinstance(value, Array) and value.numpy) for value in values)
    born = min((one.born for one in arrays), default=0)
    return Array(plain, marks, merged(one.shape for one in arrays), born=born)


def concrete(run: Interpreter, env: Env, node: ast.AST, value: Value) -> None:
    """Note that Python asks for the value of an array; one of numpy that was made on the way has it even in a scan."""
    if isinstance(value, Array):
        run.effect(Act.CONCRETE, env.code(node), node, env, born=value.born if value.numpy else 0)
