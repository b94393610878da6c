"""What the class of the layers says against a scan, where the source shows that class."""

import libcst as cst

from scanify.analysis.classes import bases, method
from scanify.analysis.effects import EffectFinder
from scanify.analysis.elements import ElementClass
from scanify.analysis.facts import Place
from scanify.analysis.names import body_of, flow, parameter_names
from scanify.analysis.project import Definition, External, Project, dotted
from scanify.analysis.where import method_where

# Each instance makes its own StateIndex, a static marker that differs in every layer (equinox/nn/_stateful.py).
_STATEFUL = frozenset(f"equinox.nn.{name}" for name in ("BatchNorm", "SpectralNorm", "StateIndex", "StatefulLayer"))

Reason = tuple[str, str, Place | None]


def methods_called(loop: cst.For, layer: str) -> tuple[str, ...]:
    """The methods of the layer that a loop's body calls: `__call__` for `layer(x)`."""
    found: list[str] = []
    _collect(loop.body, layer, found)
    return tuple(dict.fromkeys(found))


def _collect(node: cst.CSTNode, layer: str, found: list[str]) -> None:
    if isinstance(node, cst.Call):
        name = dotted(node.func)
        if name == layer or any(dotted(arg.value) == layer for arg in node.args):
            found.append("__call__")  # `jax.checkpoint(layer)(x)` calls it as well
        elif name is not None and name.startswith(f"{layer}.") and name.count(".") == 1:
            found.append(name.rpartition(".")[2])
    for child in node.children:
        _collect(child, layer, found)


def layer_problem(project: Project, kind: ElementClass | None, methods: tuple[str, ...]) -> Reason | None:
    """A side effect in a method that the loop calls, or state that equinox keeps outside of the module."""
    if kind is None or not isinstance(kind.meaning, Definition):
        return None
    stateful = _stateful(project, kind.meaning, set())
    if stateful is not None:
        reason = f"`{kind.name}` holds a `{stateful}`, whose index differs in every layer"
        return "SCN203", reason, kind.meaning.module.parsed.place(kind.meaning.node.name)
    for name in methods:
        problem = _side_effect(project, kind.meaning, name)
        if problem is not None:
            return problem
    return None


def _side_effect(project: Project, owner: Definition, name: str) -> Reason | None:
    found = method(project, owner, name)
    if found is None:
        return None
    home, function = found
    inside = method_where(home, function)
    statements = body_of(function.body)
    params = frozenset(parameter_names(function.params))
    bound = frozenset(flow(statements).bound)
    effects = EffectFinder(project, inside, bound | params, bound - params, depth=1).body(statements)
    for problem in effects.problems:
        if problem.rule in ("SCN206", "SCN207"):
            what = problem.reason if problem.rule == "SCN207" else problem.reason.replace("every layer", "outside")
            return "SCN207", f"`{owner.name}.{name}` has a side effect: {what}", home.module.parsed.place(problem.node)
    return None


def _stateful(project: Project, definition: Definition, seen: set[int]) -> str | None:
    """The first stateful class of equinox that a class uses, itself or through classes of the project."""
    if id(definition.node) in seen or len(seen) > 40:
        return None
    seen.add(id(definition.node))
    inherited = [base.qualname for base in bases(project, definition) if isinstance(base, External)]
    for name in [*inherited, *_dotted_names(definition.node)]:
        meaning = project.resolve(definition.module, name) if name not in inherited else External(name)
        if isinstance(meaning, External) and meaning.qualname in _STATEFUL:
            return meaning.qualname.rpartition(".")[2]
        if isinstance(meaning, Definition) and isinstance(meaning.node, cst.ClassDef):
            inner = _stateful(project, meaning, seen)
            if inner is not None:
                return inner
    return None


def _dotted_names(node: cst.CSTNode) -> list[str]:
    """The dotted expressions in a class, each once."""
    found: dict[str, None] = {}

    def visit(one: cst.CSTNode) -> None:
        name = dotted(one)
        if name is not None:
            found.setdefault(name)
        else:
            for child in one.children:
                visit(child)

    for child in node.children:
        visit(child)
    return list(found)
