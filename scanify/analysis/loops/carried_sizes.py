"""Whether carries keep their shape and their dtype from layer to layer: only listed operations are shown to."""

from collections.abc import Iterator, Mapping, Sequence

from scanify.analysis.facts import Place
from scanify.analysis.loops.judge_effects import Body
from scanify.analysis.lower.loop import Loop
from scanify.analysis.values import tables
from scanify.analysis.values.domain import Array, Instance, Listed, Mapped, Unknown, Value, options
from scanify.analysis.values.marks import Mark, Vary
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.size import Size


def sized(value: Value, name: str, number: int, *, scalar: bool = False) -> Value:
    """A carry with arrays of sizes of their own in the place of those it has, in the iteration of this number."""
    if isinstance(value, Listed) and _is_written_out(value):
        groups = [
            replace(group, element=sized(group.element, f"{name}[{at}]", number))
            for at, group in enumerate(value.cell.groups)
        ]
        return replace(value, cell=replace(value.cell, groups=groups, grown=list(value.cell.grown)))
    if isinstance(value, Mapped) and value.cell.whole:
        entries = {key: sized(each, f"{name}[{key!r}]", number) for key, each in value.cell.entries.items()}
        return replace(value, cell=replace(value.cell, entries=entries, grown=list(value.cell.grown)))
    if isinstance(value, Instance) and value.exact:
        return replace(value, fields={key: sized(each, f"{name}.{key}", number) for key, each in value.fields.items()})
    if all(isinstance(option, Array | Unknown) for option in options(value)):
        size = Size(frozenset({name}), scalar=scalar, whole=True)
        return Array(marks=(Mark(number, Vary.CARRY, name),), size=size)
    return value


def _is_written_out(value: Listed) -> bool:
    return value.cell.whole and all(group.count == 1 and not group.loops for group in value.cell.groups)


def _ends(before: Value | None, after: Value | None, name: str) -> Iterator[tuple[str, Value]]:
    """What each array of a carry becomes, by its name; nothing where the carry becomes another tuple or list."""
    match before, after:
        case Array(size=Size()), _:
            yield name, after or Array()
        case Listed(), Listed():
            for at, (mine, theirs) in enumerate(zip(before.cell.groups, after.cell.groups, strict=False)):
                yield from _ends(mine.element, theirs.element, f"{name}[{at}]")
        case Mapped(), Mapped() if set(before.cell.entries) != set(after.cell.entries):
            yield name, after
        case Mapped(), Mapped():
            for key, each in before.cell.entries.items():
                yield from _ends(each, after.cell.entries.get(key), f"{name}[{key!r}]")
        case Instance(), Instance():
            named = {key.removeprefix("argument ") for key in after.fields}
            for key, each in before.fields.items():
                if key in named or key in after.fields:
                    yield from _ends(each, after.fields.get(key), f"{name}.{key}")


def note_sizes(
    body: Body, loop: Loop, env: Env, before: Mapping[str, Value], after: Mapping[str, Value | None]
) -> None:
    """Note carries that are shown to change in each layer as problems, and those that may as obligations.

    `env` has what the carries are before the loop, `before` the arrays of sizes in their places, and `after` what
    these become in one iteration.
    """
    ends = {name: value for each in before for name, value in _ends(before[each], after[each], each)}
    for name, value in ends.items():
        sizes = [option.size if isinstance(option, Array) else None for option in options(value)]
        known = [size for size in sizes if size is not None]
        others = {other for size in known for other in size.of - {name} if name not in size.of}
        body.swapped |= {(name, other) for other in others if other in ends}
        shown = known[0] if len(known) == len(sizes) == 1 else None
        if shown is not None and shown.of == {name} and shown.changed:
            reason = f"`{name}` has another shape after each layer, through `{shown.what}`: a scan carries one shape"
            body.problems.append(("SCN216", reason, shown.at))
            continue
        if known and all(size.whole for size in known):
            body.whole.add(name)
        for size in known:
            if not size.kept and size.what:
                body.oblige(f"`{name}` keeps its shape, which `{size.what}`{_at(loop, size.at)} is not shown to keep")
        if any(size is None or not (size.kept or size.what) for size in sizes) and not (body.unknown or body.unclear):
            body.oblige(f"`{name}` keeps its shape and its dtype, as what it becomes is not shown")
        _note_casts(body, loop, name, env.lookup(name), [size for size in known if size.cast])


def _note_casts(body: Body, loop: Loop, name: str, before: Value | None, cast: Sequence[Size]) -> None:
    starts = set(_dtypes(before))
    for size in cast:
        body.casts[name] = size.cast
        if starts == {size.cast} <= tables.DTYPES:  # by a name, `self.dtype`, they may be two
            continue
        if len(starts) == 1 and starts | {size.cast} <= tables.DTYPES:
            reason = (
                f"`{name}` has another dtype after each layer, through `{size.cast_by}`: it begins with {starts.pop()}"
            )
            body.problems.append(("SCN216", reason, size.cast_at))
        else:
            body.oblige(
                f"`{name}` keeps its dtype, which `{size.cast_by}`{_at(loop, size.cast_at)} is not shown to keep"
            )


def _dtypes(value: Value | None) -> Iterator[str]:
    """The dtypes that a carry is cast to before the loop, without the modules they are in."""
    for option in options(value or Array()):
        yield option.cast.rpartition(".")[2].strip("'\"") if isinstance(option, Array) else ""


def _at(loop: Loop, place: Place | None) -> str:
    """A place in parentheses, with the name of its file where that is another one than the loop's."""
    if place is None:
        return ""
    return f" ({place.named})" if place.path == loop.place.path else f" ({place})"
