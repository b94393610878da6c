"""Who leads to a loop: the functions that call the one around it, and those that call them."""

from collections.abc import Iterable, Iterator

from scanify.analysis.loops.lists.layer_list import groups_of
from scanify.analysis.values.domain import Listed, Mapped, Unknown, Value, options
from scanify.analysis.values.run.explore import Code, Explorer

_STEPS = 3  # from a function to those who call it, and on to those who call them
_MOST = 12  # functions that mention a name: from one of many nothing is learned


def called_by(code: Code | None, name: str) -> str:
    """The name by which a function of some code is called: that of the class for its constructor."""
    if name.startswith("__") and name.endswith("__"):
        return code.owner.name if code is not None and code.owner is not None else ""
    return name


def holds_unknown(values: Iterable[Value]) -> bool:
    """Whether a list that the project builds holds what is not shown: `[block(dim) for key in keys]`."""
    lists = (value.cell for value in values if isinstance(value, Listed | Mapped) and not value.cell.given)
    elements = (group.element for cell in lists for group in groups_of(cell))
    return any(isinstance(each, Unknown) for element in elements for each in options(element))


def callers(explorer: Explorer, name: str) -> set[str]:
    """The names by which the code is called that calls something of a name, and so on."""
    found, last = {name}, {name}
    for _ in range(_STEPS):
        last = {each for word in last for each in _calling(explorer, word)} - found - {""}
        found |= last
    return found


def _calling(explorer: Explorer, name: str) -> Iterator[str]:
    mentioning = list(explorer.mentioning(name)) if name else []
    for code in mentioning if len(mentioning) <= _MOST else ():
        yield called_by(code, code.node.name)
