"""Where a piece of code stands: its module, the functions around it, and the class whose method it is in."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import libcst as cst

from scanify.analysis.blocks import blocks
from scanify.analysis.children import children
from scanify.analysis.code import code_of
from scanify.analysis.facts import Place
from scanify.analysis.names import body_of, imported_names, parameter_names, pattern_names
from scanify.analysis.project import Definition, Module, Project, dotted


@dataclass(frozen=True, eq=False)
class Where:
    """`functions` from the innermost outwards; `owner` is the class of the outermost function, if it is a method."""

    module: Module
    functions: tuple[cst.FunctionDef, ...] = ()
    owner: Definition | None = None

    @property
    def function(self) -> cst.FunctionDef | None:
        """The innermost function."""
        return self.functions[0] if self.functions else None

    @property
    def enclosed(self) -> bool:
        """Whether the class stands inside a function or the code runs in a class body: such names are not followed."""
        if self.owner is None:
            return False
        above = self.module.parsed.ancestors(self.owner.node)
        return not self.functions or any(isinstance(one, cst.FunctionDef) for one in above)

    @property
    def self_name(self) -> str | None:
        """The name of the instance in the method this code stands in."""
        if self.owner is None or not self.functions or _is_static(self.functions[-1]):
            return None
        params = self.functions[-1].params
        first = [*params.posonly_params, *params.params][:1]
        name = first[0].name.value if first else None
        if name is None or any(name in self.module.local_names(function) for function in self.functions):
            return None  # `self = self.inner` makes it another object
        return None if any(name in parameter_names(inner.params) for inner in self.functions[:-1]) else name

    def body(self) -> Sequence[cst.CSTNode]:
        """The statements of the innermost function, or of the module."""
        function = self.function
        return body_of(function.body) if function is not None else self.module.parsed.module.body

    def place(self, node: cst.CSTNode) -> Place | None:
        """Where a node stands; None for one that was made for a loop which the file says in other words."""
        parsed = self.module.parsed
        return parsed.place(node) if parsed.parent(node) is not None else None

    def code(self, node: cst.CSTNode) -> str:
        """The text of a node, as it stands in the file where it does."""
        parsed = self.module.parsed
        return parsed.code(node) if parsed.parent(node) is not None else code_of(node)

    @cached_property
    def locals(self) -> frozenset[str]:
        """The names that are local to any of the functions around."""
        found: set[str] = set()
        for function in self.functions:
            found |= parameter_names(function.params) | self.module.local_names(function)
        return frozenset(found)

    def parameter(self, name: str) -> cst.Param | None:
        """The parameter of that name of the innermost function that binds the name."""
        for function in self.functions:
            params = function.params
            for param in (*params.posonly_params, *params.params, *params.kwonly_params):
                if param.name.value == name:
                    return param
            if name in self.module.local_names(function):
                return None
        return None


def where(module: Module, node: cst.CSTNode) -> Where:
    """Where a node of a module stands."""
    functions: list[cst.FunctionDef] = []
    owner: Definition | None = None
    for above in module.parsed.ancestors(node):
        if isinstance(above, cst.FunctionDef):
            functions.append(above)
        elif isinstance(above, cst.ClassDef):
            owner = Definition(module, above)
            break
    return Where(module, tuple(functions), owner)


def builtin_called(project: Project, at: Where, node: cst.CSTNode) -> str | None:
    """The name of Python's own function that a call calls, None for all else: a module may have a `zip` of its own."""
    name = dotted(node.func) if isinstance(node, cst.Call) else None
    if name is None or name in at.locals or not project.is_builtin(at.module, name):
        return None
    return name


def method_where(owner: Definition, method: cst.FunctionDef) -> Where:
    """The inside of a method (or of a function, where the owner is that function itself)."""
    if owner.node is method:
        return Where(owner.module, (method,), None)
    return Where(owner.module, (method,), owner)


def _is_static(function: cst.FunctionDef) -> bool:
    return any(isinstance(d.decorator, cst.Name) and d.decorator.value == "staticmethod" for d in function.decorators)


def assignments(statements: Sequence[cst.CSTNode], name: str) -> list[cst.CSTNode]:
    """Every statement, at any depth of blocks but not in nested functions, that binds a plain name."""
    found: list[cst.CSTNode] = []
    for statement in blocks(statements):
        match statement:
            case cst.Assign():
                if any(name in _names(target.target) for target in statement.targets):
                    found.append(statement)
            case cst.AnnAssign() if statement.value is not None:
                if name in _names(statement.target):
                    found.append(statement)
            case cst.AugAssign():
                if name in _names(statement.target):
                    found.append(statement)
            case cst.For():
                if name in _names(statement.target):
                    found.append(statement)
            case cst.With():
                if any(item.asname is not None and name in _names(item.asname.name) for item in statement.items):
                    found.append(statement)
            case cst.Import() | cst.ImportFrom():
                if name in imported_names(statement):
                    found.append(statement)
            case cst.FunctionDef() | cst.ClassDef():
                if statement.name.value == name:
                    found.append(statement)
            case cst.Del():
                if name in _names(statement.target):
                    found.append(statement)
            case cst.ExceptHandler() | cst.ExceptStarHandler():
                if statement.name is not None and name in _names(statement.name.name):
                    found.append(statement)
            case cst.MatchCase():
                if name in pattern_names(statement.pattern):
                    found.append(statement)
            case _:
                pass
        if name in _walruses_of(statement) and statement not in found:
            found.append(statement)
    return found


def value_given(statement: cst.CSTNode, target: str) -> cst.BaseExpression | None:
    """What an assignment gives to a name or an attribute: one of its values, in `norms, layers = [], []`."""
    if isinstance(statement, cst.AnnAssign):
        return statement.value if dotted(statement.target) == target else None
    if not isinstance(statement, cst.Assign):
        return None
    found = [one for each in statement.targets for one in matched(each.target, statement.value, target)]
    return found[0] if found else None


def matched(target: cst.BaseExpression, value: cst.BaseExpression, name: str) -> list[cst.BaseExpression]:
    """What of `value` goes to `name`, where that can be seen."""
    return [given for one, given in given_to(target, value) if dotted(one) == name]


def given_to(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Each target and what it is given, one pair for each where several values go to several targets."""
    if not isinstance(target, cst.Tuple | cst.List) or not isinstance(value, cst.Tuple | cst.List):
        return [(target, value)]
    elements = (*target.elements, *value.elements)
    if len(target.elements) != len(value.elements) or any(isinstance(one, cst.StarredElement) for one in elements):
        return []
    pairs = zip(target.elements, value.elements, strict=True)
    return [pair for one, other in pairs for pair in given_to(one.value, other.value)]


@lru_cache(maxsize=4096)  # every question about a name asks it of every statement again
def _walruses_of(statement: cst.CSTNode) -> frozenset[str]:
    return frozenset(_walruses(statement))


def _walruses(statement: cst.CSTNode) -> set[str]:
    """The names that `:=` binds in the expressions of one statement, without the statements in it."""
    found: set[str] = set()
    for child in children(statement):
        if isinstance(child, cst.BaseSuite | cst.FunctionDef | cst.ClassDef | cst.Lambda | cst.BaseStatement):
            continue
        if isinstance(child, cst.Else | cst.Finally | cst.ExceptHandler | cst.ExceptStarHandler | cst.MatchCase):
            continue
        if isinstance(child, cst.NamedExpr) and isinstance(child.target, cst.Name):
            found.add(child.target.value)
        found |= _walruses(child)
    return found


def _names(target: cst.CSTNode) -> list[str]:
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, cst.StarredElement):
        return _names(target.value)
    if isinstance(target, cst.Tuple | cst.List):
        return [name for element in target.elements for name in _names(element)]
    if isinstance(target, cst.Element):
        return _names(target.value)
    return []
