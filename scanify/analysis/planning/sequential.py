"""`equinox.nn.Sequential` of layers that are alike: every call of it stays, and its constructor becomes a stack's."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from scanify.analysis.facts import Place
from scanify.analysis.loops.fact import LoopFact
from scanify.analysis.loops.touched import touched_layer
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Annotation, Body, Called, Holds, InitStack, Kind, Plan, Refusal
from scanify.analysis.planning.decide import Choices, refuse
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.domain import Instance, Library, Value, options
from scanify.analysis.values.heap import Cell, Does, ListCell, Use
from scanify.analysis.values.run.interpreter import Interpreter

_FEW = 3
_SERVED = frozenset({Does.WALK, Does.INDEX, Does.LENGTH, Does.TEST, Does.STORE})


def sequential(run: Interpreter, choices: Choices, fact: LoopFact) -> Plan | Refusal | None:
    """The decision about one `Sequential`; None where nothing would be gained."""
    layers, loop = fact.layers, fact.loop
    assert isinstance(loop.node, ast.Call)
    groups = [group for cell in layers.cells if isinstance(cell, ListCell) for group in cell.made]
    written_out = bool(groups) and not any(group.repeated for group in groups)
    if layers.few is not None:
        return None
    if written_out and (layers.refusal is not None or len(layers.classes) != 1 or layers.unlike or len(groups) < _FEW):
        return None
    if fact.problems:
        return _named(fact, refuse(fact, *fact.problems[0]))
    if layers.refusal is not None:
        return _named(fact, refuse(fact, *layers.refusal))
    if not layers.known and not layers.hidden:
        reason = layers.unlike or layers.hidden or "the layers are not shown"
        return _named(fact, refuse(fact, "SCN201", f"cannot tell which class the layers have: {reason}", None))
    if choices.stack == "call":
        remedy = "give the project without `--stack call`"
        return _named(fact, refuse(fact, "SCN213", "a `Sequential` is built stacked or not at all", None, remedy))
    use = next(_bad_uses(_uses(fact)), None) or _touched_layer(run, fact)
    if use is not None:
        return _named(fact, refuse(fact, "SCN214", *use))
    annotations = _annotations(run, fact)
    if annotations is None:
        reason = "the field that holds it is static or has a converter, or is annotated with a text that names it"
        return _named(fact, refuse(fact, "SCN214", reason, None))
    return _plan(run, fact, annotations)


def _named(fact: LoopFact, refusal: Refusal) -> Refusal:
    kind = Kind.GROUP if refusal.rule in ("SCN202", "SCN203") else refusal.kind
    return replace(refusal, container=_text(fact), carry=(), xs=(), broadcast=(), kind=kind)


def _text(fact: LoopFact) -> str:
    node = fact.loop.node
    assert isinstance(node, ast.Call)
    code = fact.loop.module.code(node)
    return code if "\n" not in code and len(code) <= 80 else f"{dotted(node.func)}([...])"


def _uses(fact: LoopFact) -> list[Use]:
    return Cell(fact.loop.node, fact.loop.module, 0).uses


def _applied(fact: LoopFact) -> Iterator[Use]:
    """Where it is applied, in the file that it is made in."""
    uses = sorted(_uses(fact), key=lambda use: use.place.span.start)
    return (use for use in uses if use.does is Does.WALK and use.place.path == fact.loop.place.path)


def _touched_layer(run: Interpreter, fact: LoopFact) -> tuple[str, Place] | None:
    """A use of a layer that needs the very object."""
    found = (touched_layer(run, cell) for cell in fact.layers.cells)
    return next((each for each in found if each is not None), None)


def _bad_uses(uses: Iterable[Use], guessed: bool = False) -> Iterator[tuple[str, Place]]:
    for use in uses:
        if use.guessed is not guessed:
            continue
        if use.does is Does.SLICE:
            yield (
                "code takes a slice of the `Sequential`, which is a `Sequential`; a slice of a stack is a list",
                use.place,
            )
        elif use.does is Does.ATTRIBUTE:
            yield f"`.{use.what}` of the `Sequential` is used", use.place
        elif use.does is Does.TYPE:
            yield "code asks for the class of the `Sequential`", use.place
        elif use.does is Does.REPLACE:
            yield f"`{use.what}` replaces a part of it", use.place
        elif use.does is Does.RETURN:
            yield "the `Sequential` is returned", use.place
        elif use.does is Does.COMPARE:
            yield "the `Sequential` is compared", use.place
        elif use.does not in _SERVED:
            yield f"the `Sequential` itself is given to `{use.what}`", use.place


def _plan(run: Interpreter, fact: LoopFact, annotations: tuple[Annotation, ...]) -> Plan:
    layers, loop = fact.layers, fact.loop
    module, node = loop.module, loop.node
    assert isinstance(node, ast.Call)
    given = node.args[0] if node.args else node.keywords[0].value
    own = len(layers.classes) == 1 and not isinstance(layers.classes[0].cls, Library)
    alike = own and layers.exact and layers.unlike is None and fact.alike
    hidden = ["applying a layer has no side effects"] if layers.hidden else []
    elsewhere = tuple(dict.fromkeys(_elsewhere(run, fact)))
    return Plan(
        place=loop.place,
        kind=Kind.GROUP if layers.grouped or fact.kind is Kind.GROUP else Kind.FOLD,
        container=_text(fact),
        layer="",
        carry=(),
        body=Body(next((use.place.span for use in _applied(fact)), loop.place.span), "", "", inline=True),
        stack=InitStack((Called(module.place(node.func), module.place(given)),), annotations),
        obligations=tuple(dict.fromkeys((*hidden, *elsewhere, *fact.obligations))),
        elsewhere=elsewhere,
        rule="SCN103",
        holds=Holds.ARRAY_STACKED if alike else Holds.BLOCK_SEQ,
    )


def _asked_for(run: Interpreter) -> Iterator[Place]:
    """Where the project asks `isinstance(..., Sequential)`: of what, only a run can tell."""
    for module in run.index.modules_with("Sequential"):
        if not module.writes("isinstance") and not module.writes("issubclass"):
            continue
        for call in nodes_in(module.tree):
            if not isinstance(call, ast.Call) or dotted(call.func) not in ("isinstance", "issubclass"):
                continue
            if any(True for each in call.args[1:] for _ in _named_parts(run, module, each)):
                yield module.place(call)


def _elsewhere(run: Interpreter, fact: LoopFact) -> Iterator[str]:
    """Obligations about other code that may use this `Sequential`, or ask for its class."""
    for reason, place in _bad_uses(_uses(fact), guessed=True):
        yield f"{place} uses another `Sequential`: {reason}"
    for place in _asked_for(run):
        yield f"`isinstance(..., Sequential)` at {place} is not asked of this one, which becomes another class"


def _annotations(run: Interpreter, fact: LoopFact) -> tuple[Annotation, ...] | None:
    """The annotations of the fields that hold it; None where a field does not keep what it is given as it is."""
    found: list[Annotation] = []
    for model in list(run.models.values()):
        if not isinstance(model, Instance) or isinstance(model.cls, Library):
            continue
        for name, value in model.fields.items():
            if not any(_is_it(option, fact) for option in options(value)):
                continue
            field = run.classes.fields(model.cls).get(name)
            if field is None:
                continue
            keywords = field.default.keywords if isinstance(field.default, ast.Call) else []
            if any(keyword.arg in ("converter", "static") for keyword in keywords):
                return None
            parts = list(_named_parts(run, field.owner.module, field.statement.annotation))
            if not parts and "Sequential" in ast.unparse(field.statement.annotation):
                return None
            found += [Annotation(field.owner.module.place(part), None) for part in parts]
    return tuple(dict.fromkeys(found))


def _is_it(value: Value, fact: LoopFact) -> bool:
    return isinstance(value, Instance) and value.node is fact.loop.node


def _named_parts(run: Interpreter, module, annotation: ast.expr) -> Iterator[ast.expr]:  # type: ignore[no-untyped-def]
    """`equinox.nn.Sequential` in an annotation, by itself or in a union."""
    for node in nodes_in(annotation):
        name = dotted(node)
        if name is not None and getattr(run.index.resolve(module, name), "qualname", "").endswith("nn.Sequential"):
            yield node  # type: ignore[misc]
