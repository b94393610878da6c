"""Find the calls that are given a model and are not known to treat each number alike."""

import ast
from collections.abc import Iterable, Iterator

from scanify.analysis.facts import Place
from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.watchers.follow.calls import Follower
from scanify.analysis.watchers.follow.state import classes_of, functions_in
from scanify.analysis.watchers.rules import LIST
from scanify.analysis.watchers.watcher import Watcher

_WORDS = ("equinox", "eqx", "optax", "jax")


def given_models(index: Index, places: Iterable[Place], lists: Iterable[str]) -> list[Watcher]:
    """Return the calls that are given a model whose list is built, or iterated over, at one of `places`."""
    places = list(places)
    owners = [owner for place in places if (owner := _owner(index, place)) is not None]
    models = _models(index, owners)
    follower = Follower(index, models, lists)
    stems = {place.path.stem for place in places}
    words = {*_WORDS, *(each.name for each in models), *stems}
    for path in dict.fromkeys(path for word in sorted(words) for path in index.paths_with(word)):
        if (module := index.module_at(path)) is not None:
            follower.look_at(module, module.tree)
            for function in functions_in(module):
                follower.look_at(module, function)
    found = follower.follow()
    if not follower.complete and places:
        found.append(Watcher(places[0], "what is not shown, as the project is too large to follow a model", rule=LIST))
    return found


def _models(index: Index, owners: Iterable[Definition]) -> set[Definition]:
    """Return the classes of the lists, and all that name one of them: subclasses, and classes with a field of one."""
    found = set(owners)
    while True:
        names = {each.name for each in found}
        more = {each for each, words in classes_of(index, sorted(names)) if names & words}
        if more <= found:
            return found
        found |= more


def _owner(index: Index, place: Place) -> Definition | None:
    """Return the class around a place; None outside of any."""
    module = index.module_at(place.path)
    for name, node in _classes(module) if module is not None else ():
        if module is not None and node.lineno <= place.span.line <= (node.end_lineno or node.lineno):
            return Definition(module, name, node)
    return None


def _classes(module: Module) -> Iterator[tuple[str, ast.ClassDef]]:
    for name, statements in module.definitions.items():
        yield from ((name, each) for each in statements if isinstance(each, ast.ClassDef))
