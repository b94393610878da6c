"""What the class of the layers says against a scan, where the source shows that class."""

from collections.abc import Callable, Sequence

import libcst as cst

from scanify.analysis.calls import Effects, called
from scanify.analysis.children import children
from scanify.analysis.classes import bases, method
from scanify.analysis.effects import function_effects
from scanify.analysis.elements import ElementClass
from scanify.analysis.facts import Place
from scanify.analysis.keys import qualified
from scanify.analysis.overrides import overrides
from scanify.analysis.project import Definition, External, Project, dotted
from scanify.analysis.where import Where, method_where

# Each instance makes its own StateIndex, a static marker that differs in every layer (equinox/nn/_stateful.py).
# Other packages have normalisation layers of these names that do so too.
_STATEFUL = frozenset({"BatchNorm", "SpectralNorm", "StateIndex", "StatefulLayer"})
_DIFFERS = "whose index differs in every layer"

Reason = tuple[str, str, Place | None]


def methods_called(loop: cst.For, *layers: str) -> tuple[str, ...]:
    """What the body calls of the layer: `__call__` for `layer(x)`, `attn.proj` for `layer.attn.proj(x)`."""
    found: list[str] = []
    for layer in layers:
        _collect(loop.body, layer, found)
    return tuple(dict.fromkeys(found))


def is_applied(loop: cst.For, target: str) -> bool:
    """Whether the body calls what the loop walks, a method of it, or gives it to a function."""
    return _applied(loop.body, target)


def _applied(node: cst.CSTNode, target: str) -> bool:
    if isinstance(node, cst.Call):
        name = dotted(node.func) or ""
        if name == target or (name.startswith(f"{target}.") and name.count(".") == 1):
            return True
        if any(dotted(arg.value) == target for arg in node.args):
            return True
    return any(_applied(child, target) for child in children(node))


def _collect(node: cst.CSTNode, layer: str, found: list[str]) -> None:
    if isinstance(node, cst.Call):
        # A method given to a function is called there: `jax.checkpoint(layer)(x)`, `jax.vmap(layer.norm)(x)`.
        for one in (node.func, *(arg.value for arg in node.args)):
            name = dotted(one)
            if name == layer:
                found.append("__call__")
            elif name is not None and name.startswith(f"{layer}."):
                found.append(name.removeprefix(f"{layer}."))
    for child in children(node):
        _collect(child, layer, found)


def state_of_its_own(project: Project, kind: ElementClass | None) -> str | None:
    """Where equinox keeps state of each layer outside of it: the layers then differ in the index of their state."""
    if kind is None:
        return None
    if isinstance(kind.meaning, External):
        stateful = "StateIndex" if _is_stateful(kind.meaning.qualname) else None
        return f"`{kind.name}` holds a `{stateful}`, {_DIFFERS}" if stateful is not None else None
    return class_with_state(project, kind.meaning)


def state_of_any(project: Project, kinds: Sequence[ElementClass]) -> str | None:
    """The same of layers that are of one of several classes."""
    found = (state_of_its_own(project, kind) for kind in kinds)
    return next((one for one in found if one is not None), None)


def class_with_state(project: Project, owner: Definition) -> str | None:
    """Where the source shows that instances of a class keep state outside of them: they hold one of equinox's stateful
    modules, or one of that name from elsewhere, or are called with an `equinox.nn.State`."""
    stateful = _stateful(project, owner)
    if stateful is not None:
        return f"`{owner.name}` holds a `{stateful}`, {_DIFFERS}"
    found = method(project, owner, "__call__")
    if found is None:
        return None
    inside = method_where(*found)
    params = found[1].params
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        if param.annotation is not None and holds_state(project, inside, param.annotation.annotation):
            return f"`{owner.name}` is given an `equinox.nn.State`, {_DIFFERS}"
    return None


def holds_state(project: Project, at: Where, annotation: cst.CSTNode) -> bool:
    """Whether an annotation names `equinox.nn.State`, by itself or as a part."""
    meaning = qualified(project, at, annotation)
    if meaning is not None:
        return meaning == "equinox.nn.State"
    return any(holds_state(project, at, child) for child in children(annotation))


def _is_stateful(qualname: str) -> bool:
    return qualname.rpartition(".")[2] in _STATEFUL


def layer_problem(project: Project, kinds: Sequence[ElementClass], methods: tuple[str, ...]) -> Reason | None:
    """A side effect in a method that the loop calls, of any of the classes that layers are of."""
    seen: set[cst.CSTNode] = set()
    for kind in kinds:
        for name in methods if isinstance(kind.meaning, Definition) else ():
            assert isinstance(kind.meaning, Definition)
            problem = _side_effect(project, kind.meaning, name, seen)
            if problem is not None:
                return problem
        held = _python_state(project, kind, set())
        if held is not None:
            return "SCN207", f"`{kind.name}` holds a `{held}`, which keeps its state in a Python object", None
    return None


def layer_obligations(project: Project, kinds: Sequence[ElementClass], methods: tuple[str, ...]) -> tuple[str, ...]:
    """What a run must show of the methods that the loop calls: that objects of modules do not change in them, and that
    no layer is of a class which inherits from the one shown and does more."""
    found: list[str] = []
    for kind in dict.fromkeys(kinds):
        meaning = kind.meaning
        if not isinstance(meaning, Definition):
            continue
        for name in dict.fromkeys(methods):
            run = called(project, meaning, name.split("."))
            effects = function_effects(project, method_where(*run), run[1]) if run is not None else Effects()
            found += [text for text in effects.obligations if text in effects.lasting]
            for heir, _ in () if kind.exact or "." in name else overrides(project, meaning, name):
                if _side_effect(project, heir, name, set()) is not None:
                    found.append(f"no layer is a `{heir.name}`, whose `{name}` has a side effect")
    return tuple(dict.fromkeys(found))


def _python_state(project: Project, kind: ElementClass, seen: set[int]) -> str | None:
    """The first class of `equinox.experimental` that a class uses: until equinox 0.11 they changed objects in place."""
    if isinstance(kind.meaning, External):
        name = kind.meaning.qualname
        return name if name.startswith("equinox.experimental.") else None
    return _used(project, kind.meaning, seen, lambda name: name.startswith("equinox.experimental."))


def _side_effect(project: Project, owner: Definition, name: str, seen: set[cst.CSTNode]) -> Reason | None:
    found = called(project, owner, name.split("."))
    if found is None or found[1] in seen:
        return None
    home, function = found
    seen.add(function)
    for problem in function_effects(project, method_where(home, function), function, seen).problems:
        if problem.rule in ("SCN206", "SCN207"):
            what = problem.reason if problem.rule == "SCN207" else problem.reason.replace("every layer", "outside")
            at = None if isinstance(problem.node, cst.Call) and not _stands(home, problem.node) else problem.node
            place = home.module.parsed.place(at if at is not None else function.name)
            return "SCN207", f"`{owner.name}.{name}` has a side effect: {what}", place
    return None


def _stands(home: Definition, node: cst.CSTNode) -> bool:
    """Whether a node stands in the file: a decorator's call does not."""
    return home.module.parsed.parent(node) is not None


def _stateful(project: Project, definition: Definition) -> str | None:
    """The first stateful class of equinox that a class uses, itself or through classes of the project."""
    found = _used(project, definition, set(), _is_stateful)
    return found.rpartition(".")[2] if found is not None else None


def _used(project: Project, definition: Definition, seen: set[int], asked: Callable[[str], bool]) -> str | None:
    """The first name outside of the project, of those asked for, that a class uses or a class of the project in it."""
    if id(definition.node) in seen or len(seen) > 40:
        return None
    seen.add(id(definition.node))
    inherited = [base.qualname for base in bases(project, definition) if isinstance(base, External)]
    for name in [*inherited, *_dotted_names(definition.node)]:
        meaning = project.resolve(definition.module, name) if name not in inherited else External(name)
        if isinstance(meaning, External) and asked(meaning.qualname):
            return meaning.qualname
        if isinstance(meaning, Definition) and isinstance(meaning.node, cst.ClassDef):
            inner = _used(project, meaning, seen, asked)
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
            for child in children(one):
                visit(child)

    for child in children(node):
        visit(child)
    return list(found)
