"""The names that some code sees, and what they stand for at this point of its run."""

import ast
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place, Span
from scanify.analysis.values.domain import Value, join

if TYPE_CHECKING:
    from scanify.analysis.index.meaning import Definition
    from scanify.analysis.index.module import Module


class Env:
    """One function's names on top of those around it.

    `owner` is the class that the function is a method of, `function` its node (None for the module's own code).
    `call` is the number of the call that runs it: what is made during it has a higher one.
    """

    __slots__ = ("call", "function", "global_names", "module", "names", "owner", "parent", "self_name", "stored")

    def __init__(
        self,
        module: "Module",
        parent: "Env | None" = None,
        function: ast.AST | None = None,
        owner: "Definition | None" = None,
        self_name: str | None = None,
        call: int = 0,
    ) -> None:
        self.module, self.parent, self.function = module, parent, function
        self.owner, self.self_name, self.call = owner, self_name, call
        self.names: dict[str, Value] = {}
        self.global_names: set[str] = set()
        self.stored: set[str] = set()

    def lookup(self, name: str) -> Value | None:
        """What a name stands for here, None where no function around binds it."""
        env: Env | None = self
        while env is not None:
            if name in env.names:
                return env.names[name]
            env = env.parent
        return None

    def bind(self, name: str, value: Value) -> None:
        """Give a name of this function a value."""
        self.names[name] = value
        self.stored.add(name)

    def code(self, node: ast.AST) -> str:
        """The text of a node; of one that stands in another file its own."""
        try:
            return self.module.code(node)
        except (IndexError, ValueError, AttributeError):
            return ast.unparse(node)

    def place(self, node: ast.AST) -> Place:
        """Where a node stands; the beginning of the file for one that stands in another."""
        try:
            return self.module.place(node)
        except (IndexError, ValueError, AttributeError):
            return Place(self.module.path, Span(0, 0, 1, 1))

    def copy(self) -> "Env":
        """A snapshot of this function's names; those around are shared."""
        other = Env(self.module, self.parent, self.function, self.owner, self.self_name, self.call)
        other.names = dict(self.names)
        other.global_names = self.global_names
        other.stored = set(self.stored)
        return other

    def inner(self, function: ast.AST, call: int) -> "Env":
        """The names of a function inside of this one."""
        return Env(self.module, self, function, self.owner, self.self_name, call)

    def join_with(self, others: "list[Env]") -> None:
        """Continue where several branches meet: a name is what it may be in any of them."""
        for name in dict.fromkeys(name for other in others for name in other.names):
            values = [other.names[name] for other in others if name in other.names]
            self.names[name] = values[0] if all(value is values[0] for value in values) else join(values)
        for other in others:
            self.stored |= other.stored
