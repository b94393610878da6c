"""The state that all parts of the walker share: the project, and the obligations found so far."""

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.language import types as t
from scanify.analysis.lower.scope import Scope
from scanify.analysis.obligation import Kind, Obligation
from scanify.analysis.project_facts import ProjectFacts

_LONGEST = 60  # characters of an expression in a message
_OF_TEXT = ("__format__", "__str__", "__repr__")


class Base:
    """The state of one walk.

    `muted` is positive while reading code that does not run in the loop, which causes no obligations. `collected` are
    the names of lists that the loop adds to, which become ys; `home` is the class and the field that hold the layers.
    """

    evaluate: Callable[[ast.expr, t.Env], t.Type]
    run: Callable[[Sequence[ast.stmt], t.Env, list[t.Type]], bool]
    bind: Callable[[ast.expr, t.Type, t.Env], None]
    call: Callable[[t.Env, ast.expr, t.Type, t.Types, t.Named], t.Type]
    call_function: Callable[[t.Env, ast.AST, t.Function, t.Types, t.Named], t.Type]
    by_bindings: Callable[[Scope, str], t.Type]

    def __init__(self, project: ProjectFacts) -> None:
        self.project = project
        self.index = project.index
        self.classes = project.classes
        self.conditions: dict[tuple[str, object], Obligation] = {}
        self.reasons: dict[str, dict[str, Place | None]] = {}  # reasons, each with the operations not understood for it
        self.effects: dict[str, Place | None] = {}
        self.notes: dict[str, None] = {}
        self.called: set[int] = set()  # ids of the attribute nodes that are called
        self.muted = 0
        self.active: list[ast.AST] = []
        self.walked = 0
        self.collected: frozenset[str] = frozenset()
        self.collector: Scope | None = None  # the function with the `collected` lists
        self.home: tuple[Definition | None, str | None] = (None, None)

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """All conditions of the walk; operations that are not understood for the same reason share an obligation."""
        found = []
        for why, places in self.reasons.items():
            *others, last = (f"`{each}`" for each in places)
            verb = f"{', '.join(others)} and {last} are" if others else f"{last} is"
            found.append(Obligation(Kind.BODY, f"{verb} not understood: {why}", next(iter(places.values()))))
        return (*found, *self.conditions.values())

    def note(self, module: Module, node: ast.AST, why: str) -> t.Unknown:
        """Record that an operation is not understood, and return the type of its result."""
        if not self.muted:
            text = code_of(module, node) + ("()" if id(node) in self.called else "")
            self.reasons.setdefault(why, {}).setdefault(text, _place(module, node))
        return t.Unknown(why, noted=not self.muted)

    def effect(self, module: Module, node: ast.AST, text: str) -> t.Unknown:
        """Record that an iteration changes something outside of it, and return the type of the result."""
        if not self.muted:
            self.effects.setdefault(text, _place(module, node))
        return t.Unknown(text, noted=not self.muted)

    def unknown(self, module: Module, node: ast.AST, value: t.Unknown) -> t.Unknown:
        """Record an operation on a value of unknown type, unless the value comes from an operation already recorded."""
        return value if value.noted else self.note(module, node, value.why)

    def condition(self, module: Module, node: ast.AST, text: str) -> None:
        """Record a condition."""
        if not self.muted:
            place = _place(module, node)
            self.conditions.setdefault((text, place), Obligation(Kind.BODY, text, place))

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Record no obligations while reading code that runs outside of the loop."""
        self.muted += 1
        try:
            yield
        finally:
            self.muted -= 1

    @property
    def own(self) -> bool:
        """True if containers made now belong to the iteration."""
        return not self.muted

    def is_passed(self, value: t.Type) -> bool:
        """True if a caller passes the value without annotation, so that it may be an object of the project."""
        match value:
            case t.Static(text=text):
                return (text or "").startswith(t.GIVEN)
            case t.Array(certain=certain):
                return not certain
            case _:
                return isinstance(value, t.Given)

    def text_acts(self, env: t.Env, node: ast.AST, value: t.Type) -> t.Unknown | None:
        """Record an obligation and return its result if formatting a value may do more than compute; else None."""
        acts = any(map(self.is_passed, t.parts_of(value))) and any(map(self.classes.may_act, _OF_TEXT))
        return self.note(env.module, node, "its text may do more than compute") if acts else None


def code_of(module: Module, node: ast.AST) -> str:
    """Return the text of an expression on one line, for a message."""
    text = " ".join((module.code(node) if hasattr(node, "lineno") else ast.unparse(node)).split())
    if isinstance(node, ast.Call):
        text = f"{code_of(module, node.func)}()"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _place(module: Module, node: ast.AST) -> Place | None:
    return module.place(node) if hasattr(node, "lineno") else None
