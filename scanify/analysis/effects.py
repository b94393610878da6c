"""What code does besides giving a value: a loop body that does more cannot run once for all layers.

Under `lax.scan` a body is traced once, so whatever Python does beside computing happens once instead of once a layer.
"""

from collections.abc import Iterator, Sequence

import libcst as cst

from scanify.analysis.calls import MUTATORS, CallFinder, Effects, Problem
from scanify.analysis.children import children
from scanify.analysis.classes import method
from scanify.analysis.code import code_of
from scanify.analysis.fresh import fresh_names, made_names
from scanify.analysis.identity import asks_which
from scanify.analysis.keys import qualified
from scanify.analysis.names import body_of, flow, parameter_names, target_names
from scanify.analysis.project import Assigned, Definition, Project, dotted
from scanify.analysis.where import Where

__all__ = ["EffectFinder", "Effects", "Problem", "dotted_or", "function_effects"]

_LEVELS = frozenset("debug info warning warn error".split())


class EffectFinder(CallFinder):
    """Walks the statements of one body (or, for helper functions, of one function) and collects its effects."""

    _whole: Sequence[cst.CSTNode] = ()
    made: frozenset[str] = frozenset()  # names of new objects of unknown classes, in a function that is called

    def body(self, statements: Sequence[cst.CSTNode]) -> Effects:
        self._whole = self._whole or statements
        for statement in statements:
            self._statement(statement)
        return self.effects

    def effects_of(self, inside: Where, function: cst.FunctionDef) -> Effects:
        return function_effects(self.project, inside, function, self.seen)

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
                if len(node.targets) == 1 and _grows(node.targets[0].target, node.value):
                    self._collects(node.targets[0].target, node)
            case cst.AnnAssign():
                if node.value is None:
                    self._unsupported(node)  # in a local function it would make the name local
                else:
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
                for child in children(node):
                    self._expression(child)
            case cst.Pass():
                pass
            case cst.FunctionDef() if node.asynchronous is None and self._stays(node.name.value):
                self._local_function_made(node)
            case cst.Break() | cst.Continue() | cst.Return():
                word = type(node).__name__.lower()
                self.effects.problem("SCN205", f"`{word}` ends the loop or a turn of it early", node)
                for child in children(node):
                    self._expression(child)
            case _:
                self._unsupported(node)

    def _unsupported(self, node: cst.CSTNode) -> None:
        words = {"FunctionDef": "a function definition", "ClassDef": "a class definition", "ImportFrom": "an import"}
        words["AnnAssign"] = "an annotation without a value"
        name = type(node).__name__
        what = words.get(name, f"`{name.lower().removesuffix('star')}`")
        if isinstance(node, cst.Global | cst.Nonlocal):
            self.effects.problem("SCN207", f"{what} makes the body write to names around it", node)
        else:
            self.effects.problem("SCN212", f"{what} stands in the body", node)
        if isinstance(node, cst.FunctionDef):
            self._inner_function(node)
        elif isinstance(node, cst.BaseCompoundStatement) and not isinstance(node, cst.ClassDef):
            for child in children(node):
                self._anything(child)

    def _anything(self, node: cst.CSTNode) -> None:
        """A part of a statement that is not supported itself: helpers may hold it."""
        if isinstance(node, cst.BaseStatement | cst.BaseSmallStatement):
            self._statement(node)
        elif isinstance(node, cst.BaseExpression):
            self._expression(node)
        else:
            for child in children(node):
                self._anything(child)

    def _inner_function(self, node: cst.FunctionDef) -> None:
        """A function made in the code is taken to be called there."""
        statements = body_of(node.body)
        names = parameter_names(node.params) | set(flow(statements).bound)
        inside = Where(self.at.module, (node, *self.at.functions), self.at.owner)
        fresh = (self.fresh - names) | fresh_names(statements, self.external)
        inner = EffectFinder(self.project, inside, self.own | names, fresh, self.seen, self.layers - names)
        self._take(inner.body(statements))

    def _stays(self, name: str) -> bool:
        """Whether a function made in the code is called there and never kept: it reads names as they are then.

        Kept beyond a turn, it would see the names of the last turn in the loop, and of its own in a local function.
        """
        parent = self.at.module.parsed.parent
        for node in (one for statement in self._whole for one in _mentions(statement, name)):
            above = parent(node)
            call = parent(above) if isinstance(above, cst.Arg) else above
            if not isinstance(call, cst.Call):
                return False
            given = isinstance(above, cst.Arg)
            if given and (self.external(call.func) or "").partition(".")[0] not in ("jax", "equinox"):
                return False
        return True

    def _local_function_made(self, node: cst.FunctionDef) -> None:
        for decorator in node.decorators:
            self.decorator(decorator.decorator, node.name.value)
            self._expression(decorator.decorator)
        before = len(self.effects.problems)
        self._inner_function(node)
        # How a function ends is its own affair.
        made = self.effects.problems[before:]
        self.effects.problems[before:] = [one for one in made if one.rule in ("SCN206", "SCN207")]

    def _take(self, inner: Effects) -> None:
        self.effects.problems.extend(inner.problems)
        self.effects.notes.extend(inner.notes)
        self.effects.oblige_as(inner)

    def _inner_loop(self, node: cst.For) -> None:
        self._store(node.target)
        inner = EffectFinder(self.project, self.at, self.own, self.fresh, self.seen, self.layers)
        inner.made = self.made
        inner.body(body_of(node.body))
        for problem in inner.effects.problems:
            # `break` and `continue` end the inner loop, which stays a Python loop inside the body.
            if not isinstance(problem.node, cst.Break | cst.Continue):
                self.effects.problems.append(problem)
        self.effects.oblige_as(inner.effects)

    def _with(self, node: cst.With) -> None:
        for item in node.items:
            call = item.item
            name = self.external(call.func) if isinstance(call, cst.Call) else None
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
                for arg in value.args:
                    self._expression(arg)
                if self._adds_to_a_global_set(func):
                    self.effects.oblige(f"`{dotted_or(func)}(...)` when a layer is traced is as good as once a layer")
                elif dotted(func.value) not in self.fresh:
                    self._collects(func.value, node)
                return
            name = self.external(func)
            if name is not None and name.startswith("jax.debug."):
                self._expression(value)  # an effect that scan keeps, once a layer and in order
                self.effects.notes.append(f"`{dotted(func)}` runs again where the backward pass runs a layer again")
                return
            if isinstance(func, cst.Attribute) and func.attr.value in MUTATORS and dotted(func.value) in self.fresh:
                for arg in value.args:
                    self._expression(arg.value)
                return
            made = dotted(func) == "object.__setattr__" and self.project.is_builtin(self.at.module, "object")
            if made and value.args and dotted(value.args[0].value) in self.fresh:
                for arg in value.args:
                    self._expression(arg.value)
                return
            if self._tells(func, name):
                for arg in value.args:
                    self._expression(arg.value)
                self.effects.notes.append(
                    f"`{dotted_or(func)}(...)` speaks whenever a layer is traced, which may not be once a layer"
                )
                return
            if self._followed(func):
                self._expression(value)  # a check, perhaps: what it does is seen there
                return
            self.effects.problem("SCN207", f"`{dotted_or(func)}(...)` is called for its effect alone", node)
            return
        if isinstance(value, cst.Yield | cst.Await):
            self._expression(value)
            return
        self.effects.problem("SCN212", "an expression stands alone in the body", node)

    def _followed(self, func: cst.CSTNode) -> bool:
        """Whether a call runs a function of the project, or a method of the class, that is looked into.

        One that changes a parameter by `+=` may change what it is given, and a generator only begins when it is walked.
        """
        head, _, last = (dotted(func) or "").rpartition(".")
        function: cst.CSTNode | None = None
        if head and head == self.at.self_name and self.at.owner is not None:
            found = method(self.project, self.at.owner, last)
            function = found[1] if found is not None else None
        elif last and (head or last).partition(".")[0] not in self.own | self.at.locals:
            meaning = self.project.resolve(self.at.module, dotted(func) or "")
            function = meaning.node if isinstance(meaning, Definition) else None
        if not isinstance(function, cst.FunctionDef) or function.asynchronous is not None:
            return False
        return not _adds_or_yields(function.body, parameter_names(function.params))

    def _adds_to_a_global_set(self, func: cst.Attribute) -> bool:
        """`_WARNED.add(message)`: what was said already is not said again."""
        name = dotted(func.value)
        if func.attr.value != "add" or name is None or name.partition(".")[0] in self.own | self.at.locals:
            return False
        made = self.project.resolve(self.at.module, name)
        value = made.value if isinstance(made, Assigned) else None
        is_call = isinstance(value, cst.Call) and dotted(value.func) == "set"
        return isinstance(value, cst.Set) or (is_call and self.project.is_builtin(self.at.module, "set"))

    def _tells(self, func: cst.CSTNode, name: str | None) -> bool:
        """Whether a call only warns or logs: when it does so is a matter of tracing, which a loop under jit repeats."""
        if name is not None:
            return name == "warnings.warn" or (name.startswith("logging.") and name.rpartition(".")[2] in _LEVELS)
        head, _, last = (dotted(func) or "").rpartition(".")
        if last not in _LEVELS or not head or head.partition(".")[0] in self.own | self.at.locals:
            return False
        made = self.project.resolve(self.at.module, head)
        call = made.value if isinstance(made, Assigned) else None
        return isinstance(call, cst.Call) and self.external(call.func) == "logging.getLogger"

    def _collects(self, target: cst.CSTNode, node: cst.CSTNode) -> None:
        name = dotted(target) or ""
        if name in self.made:
            self.effects.oblige(f"changing the new object `{name}` changes nothing else")
            return
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
                self.call(node)
            case cst.Yield() | cst.Await():
                self.effects.problem("SCN205", f"`{type(node).__name__.lower()}` leaves the body in the middle", node)
            case cst.ListComp() | cst.GeneratorExp() | cst.SetComp() | cst.DictComp():
                level: cst.CompFor | None = node.for_in
                names: set[str] = set()
                while level is not None:
                    if level.asynchronous is not None:
                        self.effects.problem("SCN205", "`async for` leaves the body in the middle", node)
                    names |= set(target_names(level.target))
                    level = level.inner_for_in
                self._scoped(node, names)
                return
            case cst.Lambda():
                self._scoped(node, parameter_names(node.params))
                return
            case _:
                pass
        for child in children(node):
            self._expression(child)

    def _scoped(self, node: cst.CSTNode, names: set[str]) -> None:
        own, fresh = self.own | names, self.fresh - names
        inner = EffectFinder(self.project, self.at, own, fresh, self.seen, self.layers - names)
        for child in children(node):
            inner._expression(child)
        self._take(inner.effects)


def function_effects(
    project: Project, inside: Where, function: cst.FunctionDef, seen: set[cst.CSTNode] | None = None
) -> Effects:
    """The effects of calling a function: those of its statements and of what its decorators make of it."""
    statements = body_of(function.body)
    own = frozenset(flow(statements).bound) | parameter_names(function.params)
    finder = EffectFinder(project, inside, own, frozenset(), seen)
    finder.fresh = fresh_names(statements, lambda node: qualified(project, inside, node)) - parameter_names(
        function.params
    )
    finder.made = made_names(statements) - parameter_names(function.params)
    for decorator in function.decorators:
        finder.decorator(decorator.decorator, function.name.value)
    effects = finder.body(statements)
    effects.problems = [one for one in effects.problems if not _is_its_own(one, finder.fresh)]
    for text in asks_which(project, inside, function):
        effects.oblige(f"`{text}` in `{function.name.value}` is the same for every layer")
    return effects


def _is_its_own(problem: Problem, fresh: frozenset[str]) -> bool:
    """What a function collects for itself: `xs = xs + (x,)` makes another tuple, `xs += [x]` may change one it made."""
    match problem.node:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name())]):
            return problem.rule == "SCN206"
        case cst.AugAssign(target=cst.Name(value=name)):
            return problem.rule == "SCN206" and name in fresh
        case _:
            return False


def _adds_or_yields(node: cst.CSTNode, parameters: set[str]) -> bool:
    if isinstance(node, cst.Yield) or (isinstance(node, cst.AugAssign) and dotted(node.target) in parameters):
        return True
    return any(_adds_or_yields(child, parameters) for child in children(node))


def _grows(target: cst.CSTNode, value: cst.BaseExpression) -> bool:
    """`hs = hs + [x]`, `hs = (*hs, x)`."""
    name = dotted(target)
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        return any(
            dotted(one) == name and _is_list(other)
            for one, other in ((value.left, value.right), (value.right, value.left))
        )
    starred = value.elements if isinstance(value, cst.List | cst.Tuple) else ()
    return any(isinstance(one, cst.StarredElement) and dotted(one.value) == name for one in starred)


def _is_list(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.List | cst.Tuple | cst.ListComp)


def dotted_or(node: cst.CSTNode) -> str:
    """The dotted name of an expression, or its text where it has none."""
    return dotted(node) or code_of(node)


def _mentions(node: cst.CSTNode, name: str) -> Iterator[cst.Name]:
    """Where a name is read or written, its own definition left out."""
    if isinstance(node, cst.Name) and node.value == name:
        yield node
    labels = {id(getattr(node, field, None)) for field in ("attr", "keyword")}
    labels |= {id(node.name)} if isinstance(node, cst.FunctionDef) else set()
    for child in children(node):
        if id(child) not in labels:
            yield from _mentions(child, name)
