"""The operations of a constructor that are not understood, or that depend on the value of a key."""

import ast
import re
from collections.abc import Iterator

from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.language import types as t
from scanify.analysis.language.walker import Walker
from scanify.analysis.obligation import Kind, Obligation
from scanify.analysis.project_facts import ProjectFacts

_KEYS = re.compile(r"(^|_)(key|keys|rng|rngs|prng|prngkey|seed_key)\d*$")
_KIND = Kind.LAYERS


def obligations_of(project: ProjectFacts, cls: Definition) -> tuple[Obligation, ...]:
    """Return why layers that are built with equal arguments and keys of their own may differ in more than arrays.

    Every operation of the constructor must be understood, and none may branch on the key.
    """
    if project.classes.is_nnx(cls):  # the emitted code compares the layers, and calls of them are an obligation
        return ()
    walker = _ConstructorWalker(project)
    walker.constructors = {}
    made = walker.fields_made(cls)
    effects = tuple(walker.effects.items())
    found = list(walker.obligations)
    for name, value in made.items():
        if any(_is_own(project, each) for each in _held_in(value)):
            text = f"`{name}` of `{cls.name}` is a function or an object of each layer's own"
            found.append(Obligation(_KIND, text, cls.module.place(cls.node)))
        unknowns = (each for each in _held_in(value) if isinstance(each, t.Unknown) and not each.noted)
        unknown = next((each for each in unknowns if not each.declared), None)
        if unknown is not None:
            text = f"`{name}` of `{cls.name}` is not shown: {unknown.why}"
            found.append(Obligation(_KIND, text, cls.module.place(cls.node)))
    found += [Obligation(kind=_KIND, text=text, place=place) for text, place in effects]
    return tuple(found)


def _is_own(project: ProjectFacts, value: t.Type) -> bool:
    """True if the constructor makes the value, and it is a function or an object of no module class."""
    match value:
        case t.Function(around=around):
            return around is not None
        case t.Object(cls=cls, exact=exact):
            return exact and not project.classes.is_module(cls)
        case _:
            return isinstance(value, t.Mapped)


class _ConstructorWalker(Walker):
    """Interprets a constructor whose arguments are the same for all layers, except for keys."""

    def declared_argument(self, module: Module, arg: ast.arg) -> t.Type:
        found = super().declared_argument(module, arg)
        if not isinstance(found, t.Given):
            return found
        return t.Array() if is_key_name(arg.arg) else t.Static(f"{t.GIVEN}`{arg.arg}`")


def _held_in(value: t.Type) -> Iterator[t.Type]:
    """Yield the parts of a value, including the constructor arguments of library modules."""
    for each in t.parts_of(value):
        yield each
        for _, argument in (each.arguments or ()) if isinstance(each, t.LibraryObject) else ():
            yield from _held_in(argument)


def is_key_name(name: str) -> bool:
    """True if a parameter has the name of a random key."""
    return bool(_KEYS.search(name))
