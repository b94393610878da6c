"""Probes: what the names stand for wherever a loop is reached."""

import ast
from dataclasses import dataclass

from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.domain import Class, Const, Function, Instance, Library, Listed, Mapped, Value, options
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

MAX_ENVS = 6  # ways to a loop that are looked at
FEW = 3  # a list of fewer is another kind of list
_DEEP = 3  # lists in lists that are looked into


@dataclass
class Probe:
    """What the names stand for wherever a node is reached: of many ways to it a few, of different kinds if there are.

    `missed` says that there are more, `lost` that some of these are of other kinds than those that are kept.
    """

    envs: list[Env]
    missed: bool = False
    lost: bool = False

    def note(self, env: Env) -> None:
        """Note the names as they are now; of many ways one that shows something new, in place of one that does not."""
        if len(self.envs) < MAX_ENVS:
            self.envs.append(env.snapshot())
            return
        self.missed = True
        kinds = [_kinds(each) for each in self.envs]
        again = [at for at, kind in enumerate(kinds) if kind in kinds[:at]]
        if _kinds(env) not in kinds:
            self.lost = self.lost or not again
            if again:
                self.envs[again[-1]] = env.snapshot()


def _kinds(env: Env) -> dict[str, object]:
    return {name: _kind(value) for name, value in env.names.items()}


def _kind(value: Value, depth: int = 0) -> object:
    """What kind of a value it is: which class, which function, a list of what and whether of few.

    Numbers and arrays are like what is not shown.
    """
    return frozenset(_kind_of_one(option, depth) for option in options(value))


def _kind_of_one(value: Value, depth: int) -> object:
    match value:
        case Instance():
            return "instance", getattr(value.cls, "node", value.name)
        case Class():
            return value.definition.node
        case Library():
            return value.qualname
        case Function():
            return value.node
        case Listed() if depth < _DEEP:
            elements = frozenset(_kind(each.element, depth + 1) for each in value.cell.groups)
            return "list", elements, (value.cell.length() or FEW) < FEW
        case Mapped() if depth < _DEEP:
            return "dict", _kind(value.cell.value(), depth + 1)
        case Const() if value.value is None:
            return None
        case _:
            return ""


def again(run: Interpreter, env: Env, node: ast.expr) -> Value:
    """The value of an expression where a probe has noted the names."""
    with env.revived() as names:
        return evaluate(run, names, node)
