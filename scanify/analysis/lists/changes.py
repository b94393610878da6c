"""Code anywhere in the project that may put other layers into the list of a field than those that it is built of."""

import ast
from collections.abc import Iterator

from scanify.analysis.facts import Place
from scanify.analysis.index.by_name import by_name
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.declared import declared
from scanify.analysis.lists.fields import FieldFacts, related_to
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import Class, identity
from scanify.analysis.lists.objects import class_of, home_of
from scanify.analysis.lists.statements import CHANGING, Copied, Grown, Other, reads_alone, statements_about
from scanify.analysis.lower.scope import parameters, parent_of
from scanify.analysis.obligation import Kind, Obligation

_PARTS = (ast.Attribute, ast.Subscript, ast.List, ast.Tuple, ast.comprehension, ast.ListComp)


def changes_of(facts: FieldFacts) -> Iterator[Obligation]:
    """Yield the uses of an attribute of that name after which the list may hold other layers.

    Uses in the methods that fill the field are read with what these put into it.
    """
    project = facts.project
    own = {filling.function: filling.target for filling in facts.fillings}
    for module in project.index.modules_with(facts.attribute):
        for node in by_name(module.tree).uses.get(facts.attribute, ()):
            if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
                continue
            home = home_of(project, module, node)
            if home.function is not None and own.get(home.function) == ast.unparse(node):
                continue
            text = _change(facts, home, node)
            if text is not None and _may_be_of(facts, home, node.value):
                yield _elsewhere(facts, text, module.place(node))
        for name in by_name(module.tree).strings.get(facts.attribute, ()):
            call = parent_of(module, name)
            if isinstance(call, ast.Call):
                home = home_of(project, module, call)
                got = _change(facts, home, call) if home.builtin(call) == "getattr" else None
                text = f"`{ast.unparse(call)}`" if ast.unparse(call.func).endswith("attrgetter") else got
                if text is not None:
                    yield _elsewhere(facts, text, module.place(call))


def _elsewhere(facts: FieldFacts, text: str, place: Place) -> Obligation:
    """Other code may change the list, which no case shows."""
    return Obligation(Kind.ELSEWHERE, f"{text} may put other layers into `{facts.attribute}`", place)


def _may_be_of(facts: FieldFacts, home: Home, node: ast.expr) -> bool:
    """True unless an object is shown to be of a class that is unrelated to the class with the field."""
    found = class_of(facts.project, home.module, node)
    if not isinstance(found, Definition):
        return not isinstance(found, External)
    related = {each.node for each in related_to(facts.project, facts.owner)}
    return any(each.node in related for each in related_to(facts.project, found))


def _change(facts: FieldFacts, home: Home, node: ast.expr) -> str | None:
    """The code around an expression for the list that may change the list; None if it only reads it."""
    picked, around = _picked(home, node)
    if isinstance(around, ast.Lambda) and _is_part(picked):
        return None if _keeps_layers(facts, home, picked, around) else "`tree_at`"
    if isinstance(around, ast.Return) and _is_part(picked) and (picked is node or _surgery(home)):
        return None if _is_data(facts, picked) else "code that a function gives the list"
    above = parent_of(home.module, node)
    if isinstance(above, ast.keyword):
        above = parent_of(home.module, above)
    code = ast.unparse(above) if isinstance(above, ast.expr) else ""
    match above:
        case ast.Attribute(attr=attr):
            return f"`{code}`" if attr in CHANGING else None
        case ast.Subscript() if above.value is node:
            around = parent_of(home.module, above)
            inner = isinstance(around, ast.Attribute) and around.attr in CHANGING
            return f"`{code}`" if inner or not isinstance(above.ctx, ast.Load) else None
        case ast.Assign(targets=[ast.Name(id=name)]) if home.function is not None:
            about = statements_about(home, home.function.body, name)
            return f"`{name}`" if any(isinstance(each, Grown | Other | Copied) for each in about) else None
        case ast.Assign(targets=[ast.Tuple() | ast.List()]):
            return None  # its elements are taken apart
        case ast.Assign() | ast.AnnAssign() | ast.NamedExpr() | ast.AugAssign() | ast.Dict():
            return "code with another name of the list"
        case ast.List() | ast.Tuple():
            inside = parent_of(home.module, above)
            return "code with a list of it" if isinstance(inside, ast.Assign | ast.Call) else None
        case ast.Call() if above.func is not node:
            return None if reads_alone(home, above) or _only_read(home, above, node) else f"`{ast.unparse(above.func)}`"
        case _:
            return None


def _picked(home: Home, node: ast.expr) -> tuple[ast.expr, ast.AST | None]:
    """The part of the list that the code around takes, or a list of parts, and the node around that."""
    picked, around = node, parent_of(home.module, node)
    while isinstance(around, _PARTS) and getattr(around, "slice", None) is not picked:
        if not isinstance(around, ast.comprehension):
            picked = around
        around = parent_of(home.module, around)
    return picked, around


def _is_part(picked: ast.expr) -> bool:
    """True if an expression takes a part, or a list of parts, and computes nothing of it."""
    parts = [picked.elt] if isinstance(picked, ast.ListComp) else getattr(picked, "elts", [picked])
    return all(isinstance(each, ast.Name | ast.Attribute | ast.Subscript) for each in parts)


def _is_data(facts: FieldFacts, picked: ast.expr) -> bool:
    """True if a part of each layer is declared to be an array or a number: `[layer.weight for layer in m.layers]`."""
    part = picked.elt if isinstance(picked, ast.ListComp) else picked
    if not isinstance(part, ast.Attribute) or isinstance(part.value, ast.Attribute) or not facts.contents.made:
        return False
    return all(_holds_data(facts, each.cls, part.attr) for each in facts.contents.made)


def _holds_data(facts: FieldFacts, cls: Class | None, name: str) -> bool:
    """True if a field of a class is declared to hold no module: `weight` of every class of equinox.nn."""
    if isinstance(cls, External):
        return cls.qualname.startswith("equinox.nn.") and name in ("weight", "bias")
    field = facts.project.classes.fields(cls).get(name) if cls is not None else None
    return field is not None and declared(facts.project, field.owner.module, field.statement.annotation).data


def _surgery(home: Home) -> bool:
    """True if the project may replace parts of modules with `equinox.tree_at`."""
    return any(True for _ in home.project.index.paths_with("tree_at"))


def _keeps_layers(facts: FieldFacts, home: Home, picked: ast.expr, function: ast.Lambda) -> bool:
    """True if the part of the list that a function takes stays of its class, even if `tree_at` replaces it."""
    call = parent_of(home.module, function)
    if isinstance(call, ast.Call) and reads_alone(home, call) and not home.library(call).endswith(".tree_at"):
        return True
    if not _surgery(home) or _is_data(facts, picked):
        return True
    new = call.args[2] if isinstance(call, ast.Call) and len(call.args) == 3 else None
    made = class_of(facts.project, home.module, new) if isinstance(new, ast.Call) else None
    same = made is not None and {identity(each.cls) for each in facts.contents.made} == {identity(made)}
    return same and isinstance(picked, ast.Subscript)


def _only_read(home: Home, call: ast.Call, node: ast.expr) -> bool:
    """True if a function of the project only reads the list that it is given."""
    meaning = home.meaning(call.func)
    function = meaning.node if isinstance(meaning, Definition) else None
    if not isinstance(meaning, Definition) or not isinstance(function, ast.FunctionDef):
        return False
    names = [each.arg for each in parameters(function)]
    given = [each.arg for each in call.keywords if each.value is node]
    given = given or [names[at] for at, each in enumerate(call.args) if each is node and at < len(names)]
    inner = Home(home.project, meaning.module, function)
    return bool(given) and not any(statements_about(inner, function.body, each or "") for each in given)
