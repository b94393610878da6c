"""`equinox.nn.Sequential` of layers that are alike: every call of it stays, and its constructor becomes a stack's."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from scanify.analysis.decide.fact import LoopFact
from scanify.analysis.decide.remedies import open_rule
from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.lists.fields import keeps_otherwise
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.lower.text import called, dotted
from scanify.analysis.obligation import Kind as Shows
from scanify.analysis.obligation import Obligation, each_once
from scanify.analysis.plan import Body, Holds, Kind, Plan, Refusal
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.stack import Annotation, Called, InitStack
from scanify.analysis.uses.of_list import FieldReader
from scanify.analysis.uses.use import Use

_CALLED = "calls it"


def sequential(project: ProjectFacts, choice: str | None, fact: LoopFact) -> Plan | Refusal | None:
    """Return the decision about one `Sequential`; None if nothing would be gained."""
    layers, loop = fact.layers, fact.loop
    assert isinstance(loop.node, ast.Call)
    written_out = bool(layers.made) and not any(each.repeated for each in layers.made)
    if fact.gain.refusal is not None or (written_out and fact.alike.refusal is not None):
        return None
    if fact.problems:
        return _refuse(fact, *fact.problems[0][:3])
    if fact.alike.refusal is not None:
        return _refuse(fact, *fact.alike.refusal)
    if not layers.classes or fact.gain.undecided is not None:
        reason = fact.gain.undecided.text if fact.gain.undecided is not None else "the layers are not shown"
        return _refuse(fact, open_rule(layers), f"cannot tell which class the layers have: {reason}", None)
    if choice == "call":
        remedy = "give the project without `--stack call`"
        return _refuse(fact, "SCN213", "a `Sequential` is built stacked or not at all", None, remedy)
    field = _field(project, fact)
    if field is None:
        return _refuse(fact, "SCN214", "it is not shown where the `Sequential` is kept", None)
    use, called_at = _uses(project, fact, *field)
    if use is not None:
        return _refuse(fact, "SCN214", f"other code needs the `Sequential` itself: {use.what}", use.place)
    kept = keeps_otherwise(project, *field)
    if kept is not None:
        return _refuse(fact, "SCN214", *kept)
    annotations = _annotations(project, *field)
    if annotations is None:
        return _refuse(fact, "SCN214", "the field that holds it is annotated with a text that names it")
    return _plan(project, fact, annotations, called_at or fact.loop.place)


def _refuse(fact: LoopFact, rule: str, reason: str, at: Place | None = None, remedy: str = "") -> Refusal:
    kind = Kind.GROUP if rule in ("SCN202", "SCN203") else fact.kind
    return replace(fact.refused(rule, reason, at, remedy), kind=kind, container=_text(fact))


def _text(fact: LoopFact) -> str:
    code = fact.loop.module.code(fact.loop.node)
    return code if "\n" not in code and len(code) <= 80 else f"{called(fact.loop.node)}([...])"


def _field(project: ProjectFacts, fact: LoopFact) -> tuple[Definition, str] | None:
    """The field that a constructor assigns the `Sequential` to, and to nothing else."""
    loop = fact.loop
    above = parent_of(loop.module, loop.node)
    owner = loop.scope.owner
    if not isinstance(above, ast.Assign) or len(above.targets) != 1 or owner is None:
        return None
    target = above.targets[0]
    if not isinstance(target, ast.Attribute) or dotted(target.value) != loop.scope.self_name:
        return None
    meaning = project.index.resolve(loop.module, owner.name)
    return (meaning, target.attr) if isinstance(meaning, Definition) and meaning.node is owner else None


def _uses(project: ProjectFacts, fact: LoopFact, owner: Definition, name: str) -> tuple[Use | None, Place | None]:
    """The first use of the field that a stack does not serve, in the whole project, and the place of the first call."""
    calls: list[Place] = []
    for use in FieldReader(project, replace(fact.layers, owner=owner, attribute=name)).uses():
        module = project.index.module_at(use.place.path)
        above = parent_of(module, use.node) if module is not None and use.node is not None else None
        if isinstance(above, ast.Call) and (above.func is use.node or _is_mapped(parent_of(module, above), above)):  # type: ignore[arg-type]
            calls.append(use.place)
        elif isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Slice):
            return replace(use, what="a slice of a `Sequential` is one, and a slice of a stack is a list"), None
        elif use.what:
            return use, None
    return None, next(iter(calls), None)


def _is_mapped(above: ast.AST | None, call: ast.Call) -> bool:
    """True of `jax.vmap(self.net)(x)`: a transformation whose result is called at once."""
    last = (dotted(call.func) or "").rpartition(".")[2]
    return isinstance(above, ast.Call) and above.func is call and last in ("vmap", "filter_vmap", "checkpoint", "jit")


def _annotations(project: ProjectFacts, owner: Definition, name: str) -> tuple[Annotation, ...] | None:
    """The names of `Sequential` in the annotation of the field; None if it is named in a text."""
    field = project.classes.fields(owner).get(name)
    if field is None:
        return ()
    module = field.owner.module
    parts = [node for node in nodes_in(field.statement.annotation) if _is_sequential(project, module, node)]
    if not parts and "Sequential" in ast.unparse(field.statement.annotation):
        return None
    return tuple(Annotation(module.place(part), None) for part in parts)


def _is_sequential(project: ProjectFacts, module: Module, node: ast.AST) -> bool:
    name = dotted(node)
    meaning = project.index.resolve(module, name) if name is not None else None
    return getattr(meaning, "qualname", "").endswith("nn.Sequential")


def _asked_for(project: ProjectFacts) -> Iterator[Place]:
    """Where the project asks `isinstance(..., Sequential)`: of what, only a run can show."""
    for module in project.index.modules_with("Sequential"):
        if not module.writes("isinstance") and not module.writes("issubclass"):
            continue
        for call in nodes_in(module.tree):
            if isinstance(call, ast.Call) and dotted(call.func) in ("isinstance", "issubclass"):
                parts = (part for each in call.args[1:] for part in nodes_in(each))
                if any(_is_sequential(project, module, part) for part in parts):
                    yield module.place(call)


def _plan(project: ProjectFacts, fact: LoopFact, annotations: tuple[Annotation, ...], applied: Place) -> Plan:
    layers, loop = fact.layers, fact.loop
    module, node = loop.module, loop.node
    assert isinstance(node, ast.Call)
    given = node.args[0] if node.args else node.keywords[0].value
    own = len(layers.classes) == 1 and isinstance(layers.classes[0], Definition)
    alike = own and fact.alike.holds is Holds.ARRAY_STACKED
    asked = "`isinstance(..., Sequential)` at {} is not asked of this one, which becomes another class"
    elsewhere = [Obligation(Shows.ELSEWHERE, asked.format(each), each) for each in _asked_for(project)]
    return Plan(
        place=loop.place,
        kind=Kind.GROUP if fact.kind is Kind.GROUP else Kind.FOLD,
        container=_text(fact),
        layer="",
        carry=(),
        body=Body(applied.span, "", "", inline=True),
        stack=InitStack((Called(module.place(node.func), module.place(given)),), annotations),
        obligations=each_once((*elsewhere, *fact.obligations)),
        rule="SCN103",
        holds=Holds.ARRAY_STACKED if alike else Holds.BLOCK_SEQ,
    )
