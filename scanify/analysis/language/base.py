"""What the parts of the walker share: the project, the obligations found so far, and calls of one another."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.language.types import (
    GIVEN,
    Applied,
    Array,
    Env,
    Function,
    Given,
    Items,
    LibraryFunction,
    LibraryObject,
    Named,
    Object,
    Static,
    Type,
    Types,
    Unknown,
    options,
)
from scanify.analysis.obligation import Kind, Obligation
from scanify.analysis.project_facts import ProjectFacts

_LONGEST = 60  # characters of an expression in a message


class Base(ABC):
    """The state of one walk.

    `muted` is positive while code is walked that does not run in the loop: nothing it does is an obligation. `raising`
    is positive in the arguments of an exception.
    """

    def __init__(self, project: ProjectFacts) -> None:
        self.project = project
        self.index = project.index
        self.classes = project.classes
        self.found: dict[tuple[str, object], Obligation] = {}
        self.reasons: dict[str, dict[str, Place | None]] = {}  # why operations are not understood, with their texts
        self.effects: dict[str, Place | None] = {}
        self.notes: dict[str, None] = {}
        self.called: set[int] = set()  # the nodes of attributes that are called
        self.muted = 0
        self.raising = 0
        self.active: list[ast.AST] = []

    # -- obligations -----------------------------------------------------------------------------------------------

    def note(self, module: Module, node: ast.AST, why: str) -> Unknown:
        """Record that an operation is not understood, and return the type of its result."""
        if not self.muted:
            text = code_of(module, node) + ("()" if id(node) in self.called else "")
            place = module.place(node) if hasattr(node, "lineno") else None
            self.reasons.setdefault(why, {}).setdefault(text, place)
        return Unknown(why, noted=not self.muted)

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """What must hold, in words: operations that are not understood for one reason are one obligation."""
        found = []
        for why, places in self.reasons.items():
            *others, last = (f"`{each}`" for each in places)
            verb = f"{', '.join(others)} and {last} are" if others else f"{last} is"
            found.append(Obligation(Kind.BODY, f"{verb} not understood: {why}", next(iter(places.values()))))
        return (*found, *self.found.values())

    def effect(self, module: Module, node: ast.AST, text: str) -> Unknown:
        """Record that an iteration changes something outside of it, in words, and return the type of the result."""
        if not self.muted:
            self.effects.setdefault(text, module.place(node) if hasattr(node, "lineno") else None)
        return Unknown(text, noted=not self.muted)

    def unknown(self, module: Module, node: ast.AST, value: Unknown) -> Unknown:
        """An operation on a value of no type: an obligation, unless the value comes from one."""
        return value if value.noted else self.note(module, node, value.why)

    def condition(self, module: Module, node: ast.AST, text: str) -> None:
        """Record a condition in words."""
        if not self.muted:
            place = module.place(node) if hasattr(node, "lineno") else None
            self.found.setdefault((text, place), Obligation(Kind.BODY, text, place))

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Walk code that runs outside of the loop."""
        self.muted += 1
        try:
            yield
        finally:
            self.muted -= 1

    @property
    def own(self) -> bool:
        """True of the containers that are made now: the code is of the iteration."""
        return not self.muted

    def may_act(self, value: Type, *methods: str) -> bool:
        """True if a value may be an object of the project whose method does more than compute.

        Such a value is passed by a caller, and no annotation says what it is.
        """
        given = isinstance(value, Static) and (value.text or "").startswith(GIVEN)
        if not given and not isinstance(value, Given) and not (isinstance(value, Array) and not value.certain):
            return False
        return any(self.classes.acts(each) or self.classes.is_patched(each) for each in methods)

    def asks(self, env: Env, node: ast.AST, value: Type, *methods: str) -> bool:
        """True if Python calls one of some methods of a value that may do more than compute: an obligation."""
        acts = any(self.may_act(option, *methods) for option in options(value))
        if acts:
            self.note(env.module, node, "a class of the project has a method for this, which does more than compute")
        return acts

    # -- the parts -------------------------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, node: ast.expr, env: Env) -> Type:
        """The type of an expression."""

    @abstractmethod
    def run(self, body: Sequence[ast.stmt], env: Env, returned: list[Type]) -> bool:
        """Walk statements; True if the end of the block may be reached."""

    @abstractmethod
    def call(self, env: Env, node: ast.expr, callee: Type, args: Sequence[Type], keywords: Mapping[str, Type]) -> Type:
        """The type that a call returns."""

    @abstractmethod
    def call_function(
        self,
        function: Function,
        args: Sequence[Type],
        keywords: Mapping[str, Type],
        at: tuple[Env, ast.AST] | None = None,
    ) -> Type:
        """The type that a function of the project returns."""

    @abstractmethod
    def attribute(self, env: Env, node: ast.expr, value: Type, name: str) -> Type:
        """The type of an attribute."""

    @abstractmethod
    def construct(
        self, env: Env, node: ast.expr, cls: Definition, args: Sequence[Type], keywords: Mapping[str, Type]
    ) -> Type:
        """The object that a call of a class of the project makes."""

    @abstractmethod
    def bind(self, target: ast.expr, value: Type, env: Env) -> None:
        """Assign to a target."""

    @abstractmethod
    def element(self, module: Module, node: ast.expr, value: Type) -> Type:
        """The type of an element when a value is iterated over."""

    @abstractmethod
    def truth(self, module: Module, node: ast.expr, value: Type) -> None:
        """Ask whether a value is true."""

    @abstractmethod
    def annotated(self, module: Module, node: ast.expr | None, env: Env | None = None) -> Type | None:
        """The type that an annotation declares; None if it declares none that is understood."""

    collected: frozenset[str] = frozenset()  # names of lists that the loop adds to, which become ys

    # syntax: operators, displays, statements, binding

    @abstractmethod
    def operation_of(self, node: ast.expr, operator: ast.AST, parts: Sequence[ast.expr], env: Env) -> Type: ...

    @abstractmethod
    def operation(
        self, node: ast.AST, operator: ast.AST, parts: Sequence[ast.expr], values: Sequence[Type], env: Env
    ) -> Type: ...

    @abstractmethod
    def comparison(self, node: ast.Compare, env: Env) -> Type: ...

    @abstractmethod
    def define(self, arguments: ast.arguments, env: Env, annotations: Sequence[ast.expr | None] = ()) -> None: ...

    @abstractmethod
    def defined(self, definition: Definition) -> Type | None: ...

    @abstractmethod
    def change(self, env: Env, node: ast.AST, holder_node: ast.expr, holder: Items, value: Type | None) -> None: ...

    # project: objects, constructors, calls

    making: list[tuple[Definition, dict[str, Type]]]

    @abstractmethod
    def of_library(self, qualname: str) -> Type: ...

    @abstractmethod
    def of_meaning(self, meaning: object) -> Type | None: ...

    @abstractmethod
    def understood_class(self, env: Env, node: ast.AST, cls: Definition) -> bool: ...

    @abstractmethod
    def alternatives(self, value: Object) -> list[Definition]: ...

    @abstractmethod
    def in_class(self, env: Env, node: ast.expr, value: Object, cls: Definition, name: str) -> Type | None: ...

    @abstractmethod
    def stored_by_constructor(self, cls: Definition, name: str) -> Type | None: ...

    @abstractmethod
    def store_own(self, name: str, value: Type, env: Env) -> None: ...

    @abstractmethod
    def is_made_now(self, value: Type | None) -> bool: ...

    @abstractmethod
    def decorated(self, function: Function, env: Env) -> Type: ...

    # libraries: functions, higher, methods, modules, builtins

    @abstractmethod
    def call_library(self, env: Env, node: ast.expr, callee: LibraryFunction, args: Types, keywords: Named) -> Type: ...

    @abstractmethod
    def call_builtin(self, env: Env, node: ast.expr, name: str, args: Types, keywords: Named) -> Type: ...

    @abstractmethod
    def call_applied(self, env: Env, node: ast.expr, callee: Applied, args: Types, keywords: Named) -> Type: ...

    @abstractmethod
    def call_method(
        self, env: Env, node: ast.expr, callee: LibraryFunction, package: str, name: str, args: Types, keywords: Named
    ) -> Type: ...

    @abstractmethod
    def construct_library(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type: ...

    @abstractmethod
    def call_library_object(
        self, env: Env, node: ast.expr, value: LibraryObject, args: Types, keywords: Named
    ) -> Type: ...


def code_of(module: Module, node: ast.AST) -> str:
    """The text of an expression on one line, for a message."""
    text = " ".join((module.code(node) if hasattr(node, "lineno") else ast.unparse(node)).split())
    if isinstance(node, ast.Call):
        text = f"{code_of(module, node.func)}()"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
