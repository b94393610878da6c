"""What the calls in some code do besides giving a value, as far as the project shows the code that they run."""

from dataclasses import dataclass, field

import libcst as cst

from scanify.analysis.classes import is_module, method
from scanify.analysis.code import code_of
from scanify.analysis.container import class_of, class_of_attribute
from scanify.analysis.overrides import overrides
from scanify.analysis.project import Assigned, Definition, External, Project, dotted
from scanify.analysis.where import Where, assignments, builtin_called, method_where

_PURE_BUILTINS = frozenset(
    "abs all any bool bytes callable complex dict divmod enumerate filter float frozenset getattr hasattr hash id int "
    "isinstance issubclass len list map max min object pow range repr reversed round set slice sorted str sum tuple "
    "type zip staticmethod classmethod property".split()
)
_IMPURE_BUILTINS = frozenset(
    "next print input open exec eval compile setattr delattr globals locals vars iter breakpoint __import__".split()
)
_PURE_PACKAGES = frozenset(
    "jax equinox numpy math operator functools einops jaxtyping typing typing_extensions dataclasses optax abc "
    "beartype typeguard contextlib".split()
)
_IMPURE_NAMES = ("numpy.random", "random", "time", "os", "sys", "logging", "warnings", "secrets", "uuid", "datetime")
# Under remat the backward pass runs a layer again, and its callbacks with it.
_CALLBACKS = frozenset(("jax.debug.callback", "jax.experimental.io_callback", "jax.experimental.host_callback.call"))
MUTATORS = frozenset(
    "append extend insert pop popitem remove discard clear add update setdefault sort reverse write send "
    "appendleft popleft __next__ __setitem__ __delitem__".split()
)
# Methods of arrays, and those of tuples, dicts and strings that only give a value.
_PURE_METHODS = frozenset(
    "all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy cumprod cumsum "
    "diagonal dot flatten item max mean min nonzero prod ptp ravel repeat reshape round searchsorted squeeze std sum "
    "swapaxes take tolist trace transpose var view to_device block_until_ready "
    "items keys values index count format join startswith endswith lower upper strip _asdict _replace".split()
)
_CHECKPOINTS = frozenset(("jax.checkpoint", "jax.remat", "equinox.filter_checkpoint", "jax.ad_checkpoint.checkpoint"))
_MAX_FUNCTIONS = 200  # functions of the project that one body is followed into


@dataclass(frozen=True, eq=False)
class Problem:
    """Why a body cannot be rewritten: the rule, the reason in words, and the node it points to."""

    rule: str
    reason: str
    node: cst.CSTNode


@dataclass
class Effects:
    """What was found in a body: problems in source order, and what only a run can show.

    `lasting` are the obligations that speak of an object of a module, which all that runs shares.
    """

    problems: list[Problem] = field(default_factory=list)
    obligations: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lasting: set[str] = field(default_factory=set)

    def problem(self, rule: str, reason: str, node: cst.CSTNode) -> None:
        self.problems.append(Problem(rule, reason, node))

    def oblige(self, text: str, *, lasting: bool = False) -> None:
        if text not in self.obligations:
            self.obligations.append(text)
        if lasting:
            self.lasting.add(text)

    def oblige_as(self, other: "Effects") -> None:
        """Take over the obligations of what runs in the body."""
        for text in other.obligations:
            self.oblige(text, lasting=text in other.lasting)


class CallFinder:
    """The part of the search for effects that looks at calls.

    `own` are the names that the code binds itself; `fresh` those whose objects are surely made by it: changing those
    in place is nobody else's matter. `seen` are the functions that were followed already; the methods of `layers` are
    looked at elsewhere.
    """

    def __init__(
        self,
        project: Project,
        at: Where,
        own: frozenset[str],
        fresh: frozenset[str],
        seen: set[cst.CSTNode] | None = None,
        layers: frozenset[str] = frozenset(),
    ) -> None:
        self.project, self.at, self.own, self.fresh = project, at, own, fresh
        self.seen: set[cst.CSTNode] = seen if seen is not None else set()
        self.layers = layers
        self.effects = Effects()

    def effects_of(self, inside: Where, function: cst.FunctionDef) -> Effects:
        """The effects of a whole function."""
        raise NotImplementedError

    def external(self, func: cst.CSTNode) -> str | None:
        """The qualified name of something outside of the project, None for what is local or unknown."""
        name = dotted(func)
        if name is None or name.partition(".")[0] in self.own | self.at.locals:
            return None
        meaning = self.project.resolve(self.at.module, name)
        return meaning.qualname if isinstance(meaning, External) else None

    def call(self, node: cst.Call) -> None:
        for arg in node.args:
            self._given(arg.value, node)
        func = node.func
        name = dotted(func)
        if name is None:
            self._call_of_value(func, node)
            return
        root, _, rest = name.partition(".")
        last = name.rpartition(".")[2]
        if rest and last in MUTATORS and name.rpartition(".")[0] not in self.fresh and not self._pure_external(func):
            # `x.at[i].add(y)` has no dotted name, so it does not come here
            self.effects.problem("SCN207", f"`{name}(...)` changes an object around the body", node)
        elif rest and root == self.at.self_name:
            self._method(self.at.owner, name, node)
        elif root in self.own:
            if rest and "." not in rest and root not in self.layers:
                self._unknown_method(name, node)
        elif root in self.at.locals:
            self._local(root, name, node)
        else:
            self._global(name, node)

    def _given(self, value: cst.BaseExpression, node: cst.Call) -> None:
        """A function given to another one, as in `jax.vmap(f)(x)`, is taken to be called."""
        name = dotted(value)
        if name is None:
            return
        root = name.partition(".")[0]
        found: tuple[Where, cst.FunctionDef] | None = None
        if root == self.at.self_name and self.at.owner is not None and name.count(".") == 1:
            known = method(self.project, self.at.owner, name.rpartition(".")[2])
            found = (method_where(*known), known[1]) if known is not None else None
        elif root in self.own:
            return
        elif root in self.at.locals:
            found = self._local_function(name)
        else:
            meaning = self.project.resolve(self.at.module, name)
            if isinstance(meaning, Definition) and isinstance(meaning.node, cst.FunctionDef):
                found = method_where(meaning, meaning.node), meaning.node
            elif name in _IMPURE_BUILTINS and self.project.is_builtin(self.at.module, name):
                self.effects.problem("SCN207", f"`{name}` acts outside of the body", node)
        if found is not None:
            self._follow(name, *found, node)

    def _call_of_value(self, func: cst.CSTNode, node: cst.Call) -> None:
        """A call of something that has no name: `jax.vmap(layer)(x)`, `x.at[i].set(y)`, `self.table[0](x)`."""
        if isinstance(func, cst.Call) and dotted(func.func) == "super":
            self.effects.problem("SCN212", "`super()` does not work in a local function", node)
        if isinstance(func, cst.Attribute):
            if func.attr.value in MUTATORS and not _is_at(func.value):
                text = code_of(func)
                self.effects.problem("SCN207", f"`{text}(...)` changes an object around the body", node)
            elif isinstance(func.value, cst.Call) and dotted(func.value.func) == "super":
                self.effects.problem("SCN212", "`super()` does not work in a local function", node)
            elif func.attr.value not in _PURE_METHODS and not _is_at(func.value):
                self.effects.oblige(f"calling `{code_of(func)}` has no side effects")
        elif isinstance(func, cst.Subscript):
            root = (dotted(func.value) or "").partition(".")[0]
            if root in self.at.locals - self.own - {self.at.self_name}:  # `functions[0](x)`, not `self.norms[0](x)`
                self.effects.oblige(f"calling `{code_of(func)}` has no side effects")

    def _pure_external(self, func: cst.CSTNode) -> bool:
        qualname = self.external(func)
        return qualname is not None and qualname.split(".")[0] in _PURE_PACKAGES

    def _method(self, owner: Definition | None, name: str, node: cst.Call) -> None:
        """`self.step(x)` and `self.norm(x)`: followed into the class, where it is one of the project."""
        path = name.split(".")[1:]
        found = called(self.project, owner, path) if owner is not None else None
        if owner is not None and len(path) == 1:
            for override in overrides(self.project, owner, path[0]):
                self._follow(f"{override[0].name}.{path[0]}", method_where(*override), override[1], node)
        if found is not None:
            self._follow(name, method_where(*found), found[1], node)
        elif len(path) > 1:
            self._unknown_method(name, node)

    def _unknown_method(self, name: str, node: cst.Call) -> None:
        if name.rpartition(".")[2] not in _PURE_METHODS:
            self.effects.oblige(f"calling `{name}` has no side effects")

    def _local_function(self, name: str) -> tuple[Where, cst.FunctionDef] | None:
        """A helper that is defined in the function around."""
        bound = assignments(self.at.body(), name)
        if len(bound) == 1 and isinstance(bound[0], cst.FunctionDef):
            return Where(self.at.module, (bound[0], *self.at.functions), self.at.owner), bound[0]
        return None

    def _local(self, root: str, name: str, node: cst.Call) -> None:
        """A call through a local name of the function around: a helper defined there, an array's method, or unknown."""
        if name == root:
            found = self._local_function(name)
            if found is not None:
                self._follow(name, *found, node)
            else:
                self.effects.oblige(f"calling `{name}` has no side effects")
            return
        owner = class_of(self.project, self.at, cst.Name(root))
        known = called(self.project, owner, name.split(".")[1:]) if owner is not None else None
        if known is not None:
            self._follow(name, method_where(*known), known[1], node)
        else:
            self._unknown_method(name, node)

    def _global(self, name: str, node: cst.Call) -> None:
        meaning = self.project.resolve(self.at.module, name)
        builtin = builtin_called(self.project, self.at, node)
        if isinstance(meaning, External):
            self._external_call(meaning.qualname, name, node)
        elif isinstance(meaning, Definition):
            if isinstance(meaning.node, cst.FunctionDef):
                self._follow(name, method_where(meaning, meaning.node), meaning.node, node)
            elif not is_module(self.project, meaning):
                self.effects.oblige(f"making a `{name}` has no side effects")
        elif builtin in _IMPURE_BUILTINS:
            self.effects.problem("SCN207", f"`{name}(...)` acts outside of the body", node)
        elif builtin == "super":
            self.effects.problem("SCN212", "`super()` does not work in a local function", node)
        elif builtin is None or (builtin not in _PURE_BUILTINS and not name.endswith(("Error", "Exception"))):
            lasting = isinstance(self.project.resolve(self.at.module, name.rpartition(".")[0]), Assigned)
            self.effects.oblige(f"calling `{name}` has no side effects", lasting=lasting)

    def _external_call(self, qualname: str, name: str, node: cst.Call) -> None:
        if qualname.startswith(tuple(f"{one}." for one in _IMPURE_NAMES)):
            self.effects.problem("SCN207", f"`{name}(...)` acts outside of the body", node)
        elif qualname in _CALLBACKS:
            self.effects.oblige(f"`{name}` may run again where the backward pass runs a layer again")
        elif qualname in _CHECKPOINTS:
            self.effects.notes.append(f"the body has its own `{name}`, inside the remat of the stack")
        elif qualname.split(".")[0] not in _PURE_PACKAGES:
            self.effects.oblige(f"calling `{name}` has no side effects")

    def _follow(self, name: str, inside: Where, function: cst.FunctionDef, node: cst.Call) -> None:
        """A function of the project is as pure as its own statements and its decorators."""
        if function in self.seen:
            return
        self.seen.add(function)
        if len(self.seen) > _MAX_FUNCTIONS:
            self.effects.oblige(f"calling `{name}` has no side effects")
            return
        found = self.effects_of(inside, function)
        impure = [one for one in found.problems if one.rule in ("SCN206", "SCN207")]
        if impure:
            self.effects.problem("SCN207", f"`{name}` has a side effect: {impure[0].reason}", node)
        self.effects.oblige_as(found)

    def decorator(self, node: cst.BaseExpression, function: str) -> None:
        """A decorator is called once for all, but what it makes is called in the function's place."""
        func = node.func if isinstance(node, cst.Call) else node
        name = dotted(func)
        meaning = self.project.resolve(self.at.module, name) if name is not None else None
        if isinstance(meaning, Definition) and isinstance(meaning.node, cst.FunctionDef):
            self._follow(name or "", method_where(meaning, meaning.node), meaning.node, cst.Call(func))
            return
        root = meaning.qualname.split(".")[0] if isinstance(meaning, External) else None
        builtin = name in _PURE_BUILTINS and self.project.is_builtin(self.at.module, name or "")
        if not builtin and root not in _PURE_PACKAGES and (name or "").rpartition(".")[2] not in ("setter", "getter"):
            self.effects.oblige(f"calling `{function}` through its decorator has no side effects")


def called(project: Project, owner: Definition, path: list[str]) -> tuple[Definition, cst.FunctionDef] | None:
    """The function that `instance.a.b(...)` runs: a method, or `__call__` of a module held there."""
    inner: Definition | None = owner
    for attribute in path[:-1]:
        inner = class_of_attribute(project, inner, attribute) if inner is not None else None
    if inner is None:
        return None
    found = method(project, inner, path[-1])
    if found is not None:
        return found
    held = class_of_attribute(project, inner, path[-1])
    return method(project, held, "__call__") if held is not None else None


def _is_at(node: cst.CSTNode) -> bool:
    """`x.at[i]` of `x.at[i].add(y)`, which changes nothing."""
    inner = node.value if isinstance(node, cst.Subscript) else None
    return isinstance(inner, cst.Attribute) and inner.attr.value == "at"
