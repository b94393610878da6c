"""What code does besides giving a value: a loop body that does more cannot run once for all layers.

Under `lax.scan` a body is traced once, so whatever Python does beside computing happens once instead of once a layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from scanify.analysis.classes import is_module
from scanify.analysis.names import body_of, flow, parameter_names, target_names
from scanify.analysis.project import Definition, External, Project, dotted
from scanify.analysis.where import Where, assignments, method_where

_PURE_BUILTINS = frozenset(
    "abs all any bool bytes callable complex dict divmod enumerate filter float frozenset getattr hasattr hash id int "
    "isinstance issubclass len list map max min object pow range repr reversed round set slice sorted str sum tuple "
    "type zip".split()
)
_IMPURE_BUILTINS = frozenset(
    "next print input open exec eval compile setattr delattr globals locals vars iter breakpoint __import__".split()
)
_PURE_PACKAGES = frozenset(
    "jax equinox numpy math operator functools einops jaxtyping typing dataclasses optax".split()
)
_IMPURE_NAMES = ("numpy.random", "random", "time", "os", "sys", "logging", "warnings", "secrets", "uuid", "datetime")
_MUTATORS = frozenset(
    "append extend insert pop popitem remove discard clear add update setdefault sort reverse write send "
    "appendleft popleft".split()
)
_CHECKPOINTS = frozenset(("jax.checkpoint", "jax.remat", "equinox.filter_checkpoint", "jax.ad_checkpoint.checkpoint"))
_MAX_DEPTH = 3


@dataclass(frozen=True, eq=False)
class Problem:
    """Why a body cannot be rewritten: the rule, the reason in words, and the node it points to."""

    rule: str
    reason: str
    node: cst.CSTNode


@dataclass
class Effects:
    """What was found in a body: problems in source order, and what only a run can show."""

    problems: list[Problem] = field(default_factory=list)
    obligations: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def problem(self, rule: str, reason: str, node: cst.CSTNode) -> None:
        self.problems.append(Problem(rule, reason, node))

    def oblige(self, text: str) -> None:
        if text not in self.obligations:
            self.obligations.append(text)


class EffectFinder:
    """Walks the statements of one body (or, for helper functions, of one function) and collects its effects.

    `fresh` are the names whose objects are made in the body itself: changing those in place is nobody else's matter.
    """

    def __init__(self, project: Project, at: Where, own: frozenset[str], fresh: frozenset[str], depth: int = 0) -> None:
        self.project, self.at, self.own, self.fresh, self.depth = project, at, own, fresh, depth
        self.effects = Effects()

    def body(self, statements: Sequence[cst.CSTNode]) -> Effects:
        for statement in statements:
            self._statement(statement)
        return self.effects

    # -- statements ---------------------------------------------------------------------------------------------

    def _statement(self, node: cst.CSTNode) -> None:
        match node:
            case cst.SimpleStatementLine():
                for inner in node.body:
                    self._statement(inner)
            case cst.Expr():
                self._bare(node)
            case cst.Assign():
                self._expression(node.value)
                for target in node.targets:
                    self._store(target.target)
            case cst.AnnAssign():
                if node.value is not None:
                    self._expression(node.value)
                self._store(node.target)
            case cst.AugAssign():
                self._expression(node.value)
                self._store(node.target)
                if isinstance(node.operator, cst.AddAssign) and _is_list(node.value):
                    self._collects(node.target, node)
            case cst.If():
                self._expression(node.test)
                self.body(body_of(node.body))
                if node.orelse is not None:
                    self._statement(node.orelse)
            case cst.Else():
                self.body(body_of(node.body))
            case cst.With():
                self._with(node)
            case cst.For() if node.orelse is None and node.asynchronous is None:
                self._expression(node.iter)
                self._inner_loop(node)
            case cst.Assert() | cst.Raise():
                for child in node.children:
                    self._expression(child)
            case cst.Pass():
                pass
            case cst.Break() | cst.Continue() | cst.Return():
                word = type(node).__name__.lower()
                self.effects.problem("SCN205", f"`{word}` ends the loop or a turn of it early", node)
                for child in node.children:
                    self._expression(child)
            case _:
                self._unsupported(node)

    def _unsupported(self, node: cst.CSTNode) -> None:
        words = {"FunctionDef": "a function definition", "ClassDef": "a class definition", "ImportFrom": "an import"}
        name = type(node).__name__
        what = words.get(name, f"`{name.lower().removesuffix('star')}`")
        if isinstance(node, cst.Global | cst.Nonlocal):
            self.effects.problem("SCN207", f"{what} makes the body write to names around it", node)
        else:
            self.effects.problem("SCN212", f"{what} stands in the body", node)

    def _inner_loop(self, node: cst.For) -> None:
        inner = EffectFinder(self.project, self.at, self.own, self.fresh, self.depth)
        inner.body(body_of(node.body))
        for problem in inner.effects.problems:
            # `break` and `continue` end the inner loop, which stays a Python loop inside the body.
            if not isinstance(problem.node, cst.Break | cst.Continue):
                self.effects.problems.append(problem)
        for text in inner.effects.obligations:
            self.effects.oblige(text)

    def _with(self, node: cst.With) -> None:
        for item in node.items:
            call = item.item
            name = self._external(call.func) if isinstance(call, cst.Call) else None
            if name not in ("jax.named_scope", "jax.profiler.annotate_function", "jax.default_matmul_precision"):
                self.effects.problem("SCN212", f"`with {dotted_or(call)}` would be entered once, not per layer", node)
            self._expression(call)
        self.body(body_of(node.body))

    def _bare(self, node: cst.Expr) -> None:
        value = node.value
        if isinstance(value, cst.BaseString | cst.Ellipsis):
            return
        if isinstance(value, cst.Call):
            func = value.func
            if isinstance(func, cst.Attribute) and func.attr.value in ("append", "extend", "insert", "add"):
                root = dotted(func.value)
                if root in self.fresh:
                    for arg in value.args:
                        self._expression(arg)
                else:
                    self._collects(func.value, node)
                return
            name = self._external(func)
            if name is not None and name.startswith("jax.debug."):
                self._expression(value)  # an effect that scan keeps, once a layer and in order
                return
            self.effects.problem("SCN207", f"`{dotted_or(func)}(...)` is called for its effect alone", node)
            return
        if isinstance(value, cst.Yield | cst.Await):
            self._expression(value)
            return
        self.effects.problem("SCN212", "an expression stands alone in the body", node)

    def _collects(self, target: cst.CSTNode, node: cst.CSTNode) -> None:
        self.effects.problem("SCN206", f"`{dotted_or(target)}` collects a value from every layer", node)

    def _store(self, target: cst.CSTNode) -> None:
        match target:
            case cst.Subscript():
                if dotted(target.value) not in self.fresh:
                    self._collects(target.value, target)
                self._expression(target)
            case cst.Attribute():
                self.effects.problem("SCN207", f"`{dotted_or(target)}` is assigned in the body", target)
            case cst.Tuple() | cst.List():
                for element in target.elements:
                    self._store(element.value)
            case _:
                pass

    # -- expressions --------------------------------------------------------------------------------------------

    def _expression(self, node: cst.CSTNode) -> None:
        match node:
            case cst.Call():
                self._call(node)
            case cst.Yield() | cst.Await():
                self.effects.problem("SCN205", f"`{type(node).__name__.lower()}` leaves the body in the middle", node)
            case cst.ListComp() | cst.GeneratorExp() | cst.SetComp() | cst.DictComp():
                level: cst.CompFor | None = node.for_in
                names: set[str] = set()
                while level is not None:
                    names |= set(target_names(level.target))
                    level = level.inner_for_in
                self._scoped(node, names)
                return
            case cst.Lambda():
                self._scoped(node, parameter_names(node.params))
                return
            case _:
                pass
        for child in node.children:
            self._expression(child)

    def _scoped(self, node: cst.CSTNode, names: set[str]) -> None:
        inner = EffectFinder(self.project, self.at, self.own | names, self.fresh, self.depth)
        for child in node.children:
            inner._expression(child)
        self.effects.problems.extend(inner.effects.problems)
        for text in inner.effects.obligations:
            self.effects.oblige(text)

    def _external(self, func: cst.CSTNode) -> str | None:
        name = dotted(func)
        if name is None or name.partition(".")[0] in self.own | self.at.locals:
            return None
        meaning = self.project.resolve(self.at.module, name)
        return meaning.qualname if isinstance(meaning, External) else None

    def _call(self, node: cst.Call) -> None:
        func = node.func
        name = dotted(func)
        if name is None:
            self._call_of_value(func, node)
            return
        root, _, rest = name.partition(".")
        last = name.rpartition(".")[2]
        if rest and last in _MUTATORS and root not in self.fresh and not self._pure_external(name):
            # `x.at[i].add(y)` has no dotted name, so it does not come here
            self.effects.problem("SCN207", f"`{name}(...)` changes an object around the body", node)
        elif root in self.own or (rest and root == self.at.self_name):
            if name == "super" or root == "super":
                self.effects.problem("SCN212", "`super()` does not work in a local function", node)
        elif root in self.at.locals:
            self._local(root, name, node)
        else:
            self._global(name, node)

    def _call_of_value(self, func: cst.CSTNode, node: cst.Call) -> None:
        """A call of something that has no name: `jax.vmap(layer)(x)`, `x.at[i].set(y)`, `self.table[0](x)`."""
        if isinstance(func, cst.Call) and dotted(func.func) == "super":
            self.effects.problem("SCN212", "`super()` does not work in a local function", node)

    def _pure_external(self, name: str) -> bool:
        qualname = self._external_name(name)
        return qualname is not None and qualname.split(".")[0] in _PURE_PACKAGES

    def _external_name(self, name: str) -> str | None:
        if name.partition(".")[0] in self.own | self.at.locals:
            return None
        meaning = self.project.resolve(self.at.module, name)
        return meaning.qualname if isinstance(meaning, External) else None

    def _local(self, root: str, name: str, node: cst.Call) -> None:
        """A call through a local name of the function around: a helper defined there, an array's method, or unknown."""
        bound = assignments(self.at.body(), root)
        if name == root and len(bound) == 1 and isinstance(bound[0], cst.FunctionDef):
            self._helper(name, Where(self.at.module, (bound[0], *self.at.functions), self.at.owner), bound[0], node)
        elif name == root or name.rpartition(".")[2] in ("split", "next", "get", "draw", "sample"):
            self.effects.oblige(f"calling `{name}` has no side effects")

    def _global(self, name: str, node: cst.Call) -> None:
        meaning = self.project.resolve(self.at.module, name)
        if isinstance(meaning, External):
            self._external_call(meaning.qualname, name, node)
        elif isinstance(meaning, Definition):
            if isinstance(meaning.node, cst.FunctionDef):
                self._helper(name, method_where(meaning, meaning.node), meaning.node, node)
            elif not is_module(self.project, meaning):
                self.effects.oblige(f"making a `{name}` has no side effects")
        elif name in _IMPURE_BUILTINS:
            self.effects.problem("SCN207", f"`{name}(...)` acts outside of the body", node)
        elif name == "super":
            self.effects.problem("SCN212", "`super()` does not work in a local function", node)
        elif name not in _PURE_BUILTINS and not name.endswith(("Error", "Exception")):
            self.effects.oblige(f"calling `{name}` has no side effects")

    def _external_call(self, qualname: str, name: str, node: cst.Call) -> None:
        if qualname.startswith(tuple(f"{one}." for one in _IMPURE_NAMES)):
            self.effects.problem("SCN207", f"`{name}(...)` acts outside of the body", node)
        elif qualname in _CHECKPOINTS:
            self.effects.notes.append(f"the body has its own `{name}`, inside the remat of the stack")
        elif qualname.split(".")[0] not in _PURE_PACKAGES:
            self.effects.oblige(f"calling `{name}` has no side effects")

    def _helper(self, name: str, inside: Where, function: cst.FunctionDef, node: cst.Call) -> None:
        """A helper of the project is as pure as its own statements."""
        if self.depth >= _MAX_DEPTH:
            self.effects.oblige(f"calling `{name}` has no side effects")
            return
        statements = body_of(function.body)
        bound = frozenset(flow(statements).bound)
        params = frozenset(parameter_names(function.params))
        finder = EffectFinder(self.project, inside, bound | params, bound - params, self.depth + 1)
        found = finder.body(statements)
        impure = [one for one in found.problems if one.rule in ("SCN206", "SCN207")]
        if impure:
            self.effects.problem("SCN207", f"`{name}` has a side effect: {impure[0].reason}", node)
        for text in found.obligations:
            self.effects.oblige(text)


def _is_list(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.List | cst.Tuple | cst.ListComp)


def dotted_or(node: cst.CSTNode) -> str:
    """The dotted name of an expression, or its text where it has none."""
    return dotted(node) or cst.Module([]).code_for_node(node)
