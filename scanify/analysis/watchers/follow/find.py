"""Find the calls that are passed a model and are not known to treat each number alike."""

import ast
import re
from collections.abc import Iterable, Iterator

from scanify.analysis.facts import Place
from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS
from scanify.analysis.watchers.follow.calls import Follower
from scanify.analysis.watchers.rules import LIST
from scanify.analysis.watchers.watcher import Watcher

_WORDS = ("equinox", "eqx", "optax", "jax")


def given_models(index: Index, places: Iterable[Place], lists: Iterable[str]) -> list[Watcher]:
    """Return the calls that are passed a model whose list is built, or iterated over, at one of `places`."""
    places = list(places)
    models = _models(index, (owner for place in places if (owner := _owner(index, place)) is not None))
    follower = Follower(index, models, lists)
    words = {*_WORDS, *(each.name for each in models), *(place.path.stem for place in places)}
    for path in dict.fromkeys(path for word in sorted(words) for path in index.paths_with(word)):
        if (module := index.module_at(path)) is not None:
            follower.look_at(module, module.tree)
            for node in nodes_in(module.tree):
                if isinstance(node, (*FUNCTIONS, ast.Lambda)):
                    follower.look_at(module, node)
    found = follower.follow()
    if not follower.complete and places:
        found.append(Watcher(places[0], "what is not shown, as the project is too large to follow a model", rule=LIST))
    return found


def _models(index: Index, owners: Iterable[Definition]) -> set[Definition]:
    """Return the classes of the lists, and all that name one of them: subclasses, and classes with a field of one."""
    found = set(owners)
    while True:
        names = {each.name for each in found}
        paths = dict.fromkeys(path for name in sorted(names) for path in index.paths_with(name))
        modules = (module for path in paths if (module := index.module_at(path)) is not None)
        classes = [each for module in modules for each in _classes(module)]
        more = {each for each in classes if names & set(re.findall(r"[^\W\d]\w*", each.module.code(each.node)))}
        if more <= found:
            return found
        found |= more


def _owner(index: Index, place: Place) -> Definition | None:
    """Return the class around a place; None outside of any."""
    module = index.module_at(place.path)
    around = (
        each
        for each in (_classes(module) if module is not None else ())
        if each.node.lineno <= place.span.line <= (each.node.end_lineno or each.node.lineno)
    )
    return next(around, None)


def _classes(module: Module) -> Iterator[Definition]:
    for name, statements in module.definitions.items():
        yield from (Definition(module, name, each) for each in statements if isinstance(each, ast.ClassDef))
