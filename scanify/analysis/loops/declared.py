"""Why operations are not understood: the type of what they are done to, and where that is declared."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import scope_of
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.code.annotations import unquoted
from scanify.analysis.values.run.effects import Effect
from scanify.analysis.values.run.interpreter import Interpreter
from scanify.analysis.values.tables import LIST_TYPES
from scanify.analysis.watchers.data import said_data
from scanify.analysis.watchers.names import bindings_of, local_scope
from scanify.analysis.watchers.stacks import class_of

_ANYTHING = ("Any", "object", "typing.Any")
_FRAMEWORKS = ("equinox.", "haliax.", "flax.", "jax.")
_STEPS = 2  # from a name to what it is bound to


@dataclass(frozen=True)
class Reasons:
    """Finds the operands of operations that may be anything. Lines are those of `beside`; other files are named."""

    run: Interpreter
    beside: Module

    def of_effect(self, effect: Effect, *, call: bool) -> str:
        """Return why an effect is not understood, and what to do; a `call` is one of something unknown."""
        node, module = effect.node, effect.module
        function = node.func if isinstance(node, ast.Call) else None
        name = dotted(function) if function is not None else None
        library = name is not None and isinstance(self.run.index.resolve(module, name), External)
        found = self.of_value(module, function, bare=call) if function is not None else ""
        if not found and (library or not call):
            found = self.of_value(module, node, bare=effect.argument is not None)
        if not found and library:
            return f"`{name}` is not on the list of functions that only compute; give a case"
        return found or "the source does not show what is done there; give a case"

    def of_value(self, module: Module, node: ast.AST, *, bare: bool, steps: int = 0) -> str:
        """Return the type of the first operand that may be anything, where it is declared and what to do, or "".

        With `bare` a parameter without an annotation is such an operand.
        """
        operands = [each for each in nodes_in(node) if isinstance(each, ast.Attribute | ast.Name)]
        operands.sort(key=lambda each: isinstance(each, ast.Name))
        return next((text for each in operands for text in self._declared(module, each, bare, steps)), "")

    def _declared(self, module: Module, node: ast.Attribute | ast.Name, bare: bool, steps: int) -> Iterator[str]:
        if isinstance(node, ast.Attribute):
            owner = class_of(self.run.index, module, node.value)
            field = self.run.classes.fields(owner).get(node.attr) if owner is not None else None
            if field is not None:
                yield from self._typed(field.owner.module, node.attr, "field", field.statement.annotation)
            return
        scope = local_scope(module, node, node.id)
        if scope is None or node.id == scope_of(module, node).self_name:
            return
        parameters = (each for each in nodes_in(scope.node) if isinstance(each, ast.arg) and each.arg == node.id)
        for each in parameters if node.id in scope.params else ():
            if each.annotation is not None:
                yield from self._typed(module, node.id, "parameter", each.annotation)
            elif bare:
                where = self._at(module.place(each))
                yield f"`{node.id}` has no annotation ({where}); give a case, or annotate the parameter"
        for binding in bindings_of(scope, node.id) if steps < _STEPS else ():
            for part in ("value", "iter", "context_expr"):
                if isinstance(source := getattr(binding, part, None), ast.expr):
                    yield from filter(None, [self.of_value(module, source, bare=bare, steps=steps + 1)])

    def _typed(self, module: Module, name: str, kind: str, annotation: ast.expr) -> Iterator[str]:
        if self._opens(module, unquoted(annotation)):
            remedy = f"give a case, or annotate the {kind}" if dotted(annotation) in _ANYTHING else "give a case"
            yield f"`{name}` has type {module.code(annotation)} ({self._at(module.place(annotation))}); {remedy}"

    def _opens(self, module: Module, annotation: ast.expr) -> bool:
        """True if an annotation names a type that is no class of the project, array, number or container of these."""
        if said_data(self.run.index, module, annotation):
            return False
        parts = list(ast.iter_child_nodes(annotation)) if dotted(annotation) is None else []
        if parts:
            return any(self._opens(module, each) for each in parts if isinstance(each, ast.expr))
        name = dotted(annotation)
        found = self.run.index.resolve(module, name) if name is not None else None
        holder = (name or "").rpartition(".")[2] in LIST_TYPES | {"dict", "Dict", "Optional", "Union", "Mapping"}
        layer = isinstance(found, External) and found.qualname.startswith(_FRAMEWORKS)
        return name is not None and not (holder or layer or isinstance(found, Definition))

    def _at(self, place: Place) -> str:
        return place.named if place.path == self.beside.path else str(place)
