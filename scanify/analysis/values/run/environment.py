"""The names that some code sees, and what they stand for at this point of its run."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place, Span
from scanify.analysis.values.domain import Value, join

if TYPE_CHECKING:
    from scanify.analysis.index.meaning import Definition
    from scanify.analysis.index.module import Module


class Env:
    """One function's names on top of those around it.

    `owner` is the class that the function is a method of, `function` its node (None for the module's own code).
    `call` is the number of the call that runs it: what is made during it has a higher one. `version` is another one
    whenever a name stands for something else: functions that are made here see that. `partly` are names that some way
    to here binds and another does not.
    """

    __slots__ = (
        "_around",
        "_origin",
        "call",
        "function",
        "global_names",
        "module",
        "names",
        "outer_names",
        "owner",
        "parent",
        "partly",
        "self_name",
        "version",
    )

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
        self.outer_names: set[str] = set()
        self.version = 0
        self.partly: set[str] = set()
        self._origin: Env | None = None
        self._around: list[tuple[Env, dict[str, Value]]] = []

    def lookup(self, name: str) -> Value | None:
        """What a name stands for here, None where no function around binds it."""
        env: Env | None = self
        while env is not None:
            if name in env.names:
                return env.names[name]
            env = env.parent
        return None

    def bind(self, name: str, value: Value) -> None:
        """Give a name of this function a value; one of a function around, by `nonlocal`, may have it from then on."""
        if name in self.outer_names and (around := self.around(name)) is not None:
            around.bind(name, join([around.names[name], value]))
            return
        if self.names.get(name) is not value:
            self.version += 1
        self.names[name] = value

    def around(self, name: str) -> "Env | None":
        """The names of the function around that binds a name."""
        around = self.parent
        while around is not None and name not in around.names:
            around = around.parent
        return around

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

    def snapshot(self) -> "Env":
        """The names as they are now, those of the functions around too."""
        other = Env(self.module, self.parent, self.function, self.owner, self.self_name, self.call)
        other.names, other.global_names, other.outer_names = dict(self.names), self.global_names, self.outer_names
        other._origin = self
        around = self.parent
        while around is not None:
            other._around.append((around, dict(around.names)))
            around = around.parent
        return other

    @contextmanager
    def revived(self) -> "Iterator[Env]":
        """The names of a snapshot, to go on from: functions that were made beside them see them as they were then."""
        then = [(self._origin or self, self.names), *self._around]
        now = [(env, env.names) for env, _ in then]
        for env, names in then:
            env.begin(names)
        try:
            yield then[0][0]
        finally:
            for env, names in now:
                env.names, env.version = names, env.version + 1

    def begin(self, names: "dict[str, Value]") -> None:
        """Go on from some names, which stay as they are."""
        self.names, self.version = dict(names), self.version + 1

    def inner(self, function: ast.AST, call: int) -> "Env":
        """The names of a function inside of this one."""
        return Env(self.module, self, function, self.owner, self.self_name, call)

    def join(self, ways: "Sequence[dict[str, Value]]", before: "dict[str, Value]") -> None:
        """Go on where several ways from the names before meet: a name is what it may be on any of them."""
        self.begin(before)
        for name in dict.fromkeys(name for names in ways for name in names):
            values = [names[name] for names in ways if name in names]
            if len(values) < len(ways):
                self.partly.add(name)
            self.names[name] = values[0] if all(value is values[0] for value in values) else join(values)
