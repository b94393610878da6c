"""What a constructor does that is not understood, or that depends on the value of its key."""

import ast
import re

from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.language.types import Array, Given, Static, Type
from scanify.analysis.language.walker import Walker
from scanify.analysis.obligation import Kind, Obligation
from scanify.analysis.project_facts import ProjectFacts

_KEYS = re.compile(r"(^|_)(key|keys|rng|rngs|prng|prngkey|seed_key)\d*$")
_KIND = Kind.LAYERS


def obligations_of(project: ProjectFacts, cls: Definition) -> tuple[Obligation, ...]:
    """Return why layers that are built with equal arguments and keys of their own may differ in more than arrays.

    Every operation of the constructor must be understood, and none may branch on the key.
    """
    method = project.classes.method(cls, "__init__")
    if method is None:
        return ()
    owner, function = method
    walker = _ConstructorWalker(project)
    plain, named = walker.declared_arguments(owner.module, function)
    walker.run_constructor(owner, function, cls, plain, named)
    effects = tuple(walker.effects.items())
    found = list(walker.obligations)
    found += [Obligation(kind=_KIND, text=text, place=place) for text, place in effects]
    return tuple(found)


class _ConstructorWalker(Walker):
    """Walks a constructor whose arguments are the same for all layers, but for keys."""

    def declared_argument(self, module: Module, arg: ast.arg) -> Type:
        found = super().declared_argument(module, arg)
        if not isinstance(found, Given):
            return found
        return Array() if is_key_name(arg.arg) else Static()


def is_key_name(name: str) -> bool:
    """True if a parameter is called as random keys are."""
    return bool(_KEYS.search(name))
