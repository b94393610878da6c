"""Code anywhere in the project that may put other layers into the list of a field than those that it is built of."""

import ast
from collections.abc import Iterator

from scanify.analysis.index.by_name import by_name
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.fields import FieldFacts, related_to
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import not_shown
from scanify.analysis.lists.objects import class_of, home_of
from scanify.analysis.lists.statements import CHANGING, Copied, Grown, Other, reads_alone, statements_about
from scanify.analysis.lower.scope import ancestors, parameters, parent_of
from scanify.analysis.obligation import Obligation


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
            text = _change(home, node)
            if text is not None and _may_be_of(facts, home, node.value):
                yield not_shown(f"{text}, which may put other layers into `{facts.attribute}`", module.place(node))


def _may_be_of(facts: FieldFacts, home: Home, node: ast.expr) -> bool:
    """True unless an object is shown to be of a class that is unrelated to the class with the field."""
    found = class_of(facts.project, home.module, node)
    if not isinstance(found, Definition):
        return not isinstance(found, External)
    related = {each.node for each in related_to(facts.project, facts.owner)}
    return any(each.node in related for each in related_to(facts.project, found))


def _change(home: Home, node: ast.expr) -> str | None:
    """The code around an expression for the list that may change the list; None if it only reads it."""
    if _is_chosen(home, node):
        return "`tree_at`"
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
            return "another name of the list"
        case ast.List() | ast.Tuple():
            inside = parent_of(home.module, above)
            return "another list" if isinstance(inside, ast.Assign | ast.Call) else None
        case ast.Call() if above.func is not node:
            return None if reads_alone(home, above) or _only_read(home, above, node) else f"`{ast.unparse(above.func)}`"
        case _:
            return None


def _is_chosen(home: Home, node: ast.expr) -> bool:
    """True if a function picks the list, a layer or a part of one for `equinox.tree_at`, which may replace it."""
    for above in ancestors(home.module, node):
        if isinstance(above, ast.Lambda):
            around = parent_of(home.module, above)
            given = isinstance(around, ast.Call) and reads_alone(home, around)
            return not given or home.library(around) in ("equinox.tree_at", "equinox._tree.tree_at")
        if isinstance(above, ast.Return):
            return any(True for _ in home.project.index.paths_with("tree_at"))
        if isinstance(above, ast.stmt):
            return False
    return False


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
