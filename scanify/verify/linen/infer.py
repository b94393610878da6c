"""Infer which modules of a loop are stacked in one module of a scan, from names and shapes of variables.

A module of the scan holds a family if it has the variables of each of its modules, all with an additional axis in
front. If several families fit, those with the most similar names are taken; if there is still more than one answer, the
case has to give a mapping.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax

from scanify.errors import ScanifyError
from scanify.verify.linen.renaming import OPEN, Family, Path, Renaming, entries, fits, number_in
from scanify.verify.values.arrays import is_traced

Form = tuple[tuple[str, tuple[int, ...], str], ...]
HOW = "a case can say what belongs together, as in `mapping = {'encoder.layers': 'encoder.layer_*'}` on its function"


@dataclass(eq=False)
class Module:
    """The variables of a module, by collection and name, and its submodules."""

    variables: dict[tuple[str, str], Form] = field(default_factory=dict)
    inside: dict[str, Module] = field(default_factory=dict)

    @staticmethod
    def of(variables: Mapping[str, Any]) -> Module:
        """Return the modules of these variables, for all collections together."""
        top = Module()
        for collection, tree in sorted(variables.items(), key=lambda item: (item[0] != "params", item[0])):
            for path, value in entries(tree):
                here = top
                for name in path[:-1]:
                    here = here.inside.setdefault(name, Module())
                here.variables[collection, path[-1] if path else ""] = _form(value)
        return top

    def paths(self, path: Path = ()) -> Iterator[Path]:
        yield path
        for name, each in self.inside.items():
            yield from each.paths((*path, name))

    def same(self, other: Module) -> bool:
        """Return True if both have the same variables at the same places."""
        if self.variables != other.variables or self.inside.keys() != other.inside.keys():
            return False
        return all(each.same(other.inside[name]) for name, each in self.inside.items())


def _form(value: Any) -> Form:
    found = jax.tree_util.tree_leaves_with_path(value)
    return tuple((jax.tree_util.keystr(p), tuple(x.shape), str(x.dtype)) for p, x in found if is_traced(x))


def inferred(before: Mapping[str, Any], after: Mapping[str, Any]) -> Renaming | str:
    """Return the renaming between the variables of a loop and a scan; a str with the reason if none is known."""
    found = _matched(Module.of(before), Module.of(after), (), (), ())
    return found if isinstance(found, str) else Renaming(tuple(found))


def _matched(before: Module, after: Module, lead: tuple[int, ...], ours: Path, theirs: Path) -> list[Family] | str:
    """Return the families below a module of the loop and one of the scan, which has `lead` more axes."""
    wrong = _variables(before, after, lead, theirs)
    if wrong:
        return wrong
    common = [name for name in before.inside if name in after.inside]
    done = {
        name: _matched(before.inside[name], after.inside[name], lead, (*ours, name), (*theirs, name)) for name in common
    }
    found: list[Family] = []
    same = [name for name, each in done.items() if not isinstance(each, str)]
    for name in same:
        each = done[name]
        assert not isinstance(each, str)
        found += each
    left = {name: each for name, each in before.inside.items() if name not in same}
    held = {name: each for name, each in after.inside.items() if name not in same}
    chosen = _chosen(_runs(left), held, lead, ours, theirs)
    if isinstance(chosen, str):
        return chosen
    for families, names in chosen.values():
        found += families
        left = {name: each for name, each in left.items() if name not in names}
    held = {name: each for name, each in held.items() if name not in chosen}
    unlike = [each for name in common if name in left and name in held and isinstance(each := done[name], str)]
    if unlike:
        return unlike[0]
    if left or held:
        return _unmatched(left, held, ours, theirs)
    return found


def _variables(before: Module, after: Module, lead: tuple[int, ...], path: Path) -> str:
    """Describe how the variables of two modules differ; "" if they are the same with `lead` more axes."""
    for key in (*before.variables, *after.variables):
        ours, theirs = before.variables.get(key), after.variables.get(key)
        name = ".".join((*path, key[1])) + ("" if key[0] == "params" else f" of {key[0]}")
        if ours is None or theirs is None:
            return f"{name} is a variable of the {'loop' if theirs is None else 'scan'} alone"
        wanted = tuple((place, (*lead, *shape), dtype) for place, shape, dtype in ours)
        if wanted != theirs:
            stacked = f" (stacked {'x'.join(map(str, lead))})" if lead else ""
            return f"{name}: expected {_shown(wanted)}{stacked}, the scan has {_shown(theirs)}"
    return ""


@dataclass(frozen=True, eq=False)
class _Run:
    """Modules with consecutive numbers and the same variables."""

    pattern: str
    first: int
    modules: tuple[Module, ...]

    @property
    def names(self) -> list[str]:
        return [self.pattern.replace(OPEN, str(self.first + at)) for at in range(len(self.modules))]


def _runs(modules: Mapping[str, Module]) -> list[_Run]:
    numbered: dict[str, dict[int, Module]] = {}
    for name, each in modules.items():
        for match in re.finditer(r"\d+", name):
            pattern = f"{name[: match.start()]}{OPEN}{name[match.end() :]}"
            if number_in(pattern, name) is not None:
                numbered.setdefault(pattern, {})[int(match[0])] = each
    runs: list[_Run] = []
    for pattern, members in numbered.items():
        some: list[int] = []
        for number in sorted(members):
            if some and not (number == some[-1] + 1 and members[number].same(members[some[-1]])):
                runs.append(_Run(pattern, some[0], tuple(members[each] for each in some)))
                some = []
            some.append(number)
        runs.append(_Run(pattern, some[0], tuple(members[each] for each in some)))
    return runs


_Fit = tuple[list[Family], list[str]]


def _chosen(
    runs: Sequence[_Run], held: Mapping[str, Module], lead: tuple[int, ...], ours: Path, theirs: Path
) -> dict[str, _Fit] | str:
    """Return which run each module of the scan holds; a str if that is ambiguous."""
    fitting: dict[str, list[tuple[int, _Run, list[Family]]]] = {}
    for name, module in held.items():
        for run in runs:
            families = _family(run, name, module, lead, ours, theirs)
            if families is not None:
                fitting.setdefault(name, []).append((_alike(run.pattern, name), run, families))
    chosen: dict[str, _Fit] = {}
    taken: dict[str, str] = {}
    for name, each in fitting.items():
        best = max(score for score, _, _ in each)
        top = [(run, families) for score, run, families in each if score == best]
        if len(top) > 1:
            texts = [_text((*ours, run.names[0])) + ".." + run.names[-1] for run, _ in top]
            return f"{_text((*theirs, name))} of the scan may hold {' or '.join(texts)} of the loop; {HOW}"
        run, families = top[0]
        for part in run.names:
            if part in taken:
                both = f"{_text((*theirs, taken[part]))} and {_text((*theirs, name))}"
                return f"{both} of the scan may both hold {_text((*ours, part))} of the loop; {HOW}"
            taken[part] = name
        chosen[name] = families, run.names
    return chosen


def _family(
    run: _Run, name: str, module: Module, lead: tuple[int, ...], ours: Path, theirs: Path
) -> list[Family] | None:
    """Return the family that a module of the scan holds, and those inside; None if it does not hold this run.

    A handwritten lifted class may contain only the layer: then the layer holds the family.
    """
    after = (*theirs, name)
    axes = _axes(run.modules[0], module, lead)
    if axes is not None and math.prod(axes) == len(run.modules):
        family = Family((*ours, run.pattern), after, run.first, axes)
        inner = _matched(run.modules[0], module, (*lead, *axes), family.before, family.after)
        if not isinstance(inner, str):
            return [family, *inner]
    if module.variables or len(module.inside) != 1:
        return None
    ((within, layer),) = module.inside.items()
    return _family(run, within, layer, lead, ours, after)


def _axes(before: Module, after: Module, lead: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the axes in front of a scanned module's variables, besides `lead`; None if no variable shows them."""
    for key, form in before.variables.items():
        other = after.variables.get(key)
        if form and other:
            more = len(other[0][1]) - len(form[0][1])
            return other[0][1][len(lead) : more] if more > len(lead) else None
    for name, inside in before.inside.items():
        if name in after.inside:
            return _axes(inside, after.inside[name], lead)
    for inside in before.inside.values():  # submodules may have other names, too
        for holding in after.inside.values():
            found = _axes(inside, holding, lead)
            if found is not None:
                return found[:1]
    return None


def _alike(pattern: str, name: str) -> int:
    """Count the letters at the start that a pattern and a name share, ignoring case and other characters."""
    a, b = (re.sub(r"[^a-z]", "", text.lower()) for text in (pattern, name))
    count = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return max(count, len(a) if a and a in b else 0)


def _unmatched(left: Mapping[str, Module], held: Mapping[str, Module], ours: Path, theirs: Path) -> str:
    parts = [
        f"{_listed(path, list(some))} of the {which}"
        for which, path, some in (("loop", ours, left), ("scan", theirs, held))
        if some
    ]
    for name, each in held.items():
        for run in _runs(left):
            wrong = _closest(run, name, each, theirs)
            if wrong:
                return f"no counterpart was found for {' and '.join(parts)}: {wrong}; {HOW}"
    return f"no counterpart was found for {' and '.join(parts)}; {HOW}"


def _listed(path: Path, names: Sequence[str]) -> str:
    shown = ", ".join(_text((*path, name)) for name in names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown


def _closest(run: _Run, name: str, module: Module, theirs: Path) -> str:
    """Return why a module of the scan does not hold a run that it seems to hold."""
    if len(run.modules) < 2 or not _alike(run.pattern, name):
        return ""
    found = _matched(run.modules[0], module, (len(run.modules),), (run.pattern,), (*theirs, name))
    return found if isinstance(found, str) and "counterpart" not in found else ""


def _text(path: Path) -> str:
    return ".".join(path)


def _shown(form: Form) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for _, shape, dtype in form)


def given(mapping: object, before: Mapping[str, Any], after: Mapping[str, Any]) -> Renaming:
    """Return the renaming of a case: from the path of a module in the scan to the path of its modules in the loop.

    Raises ScanifyError if it is not a mapping of paths to paths, or one of its paths names nothing.
    """
    if not isinstance(mapping, Mapping) or not all(isinstance(part, str) for pair in mapping.items() for part in pair):
        raise ScanifyError(
            "expected the mapping of the case to be a dict of paths of modules in the scan to paths in the loop, as "
            f"{{'encoder.layers': 'encoder.layer_*'}}, got {mapping!r}"
        )
    loop, scan = Module.of(before), Module.of(after)
    families, moved = [], []
    for key, value in sorted(mapping.items(), key=lambda pair: pair[1].count(".")):
        theirs, ours = tuple(key.split(".")), tuple(value.replace("*", OPEN).split("."))
        if theirs not in set(scan.paths()):
            raise _nothing(key, "scan", scan)
        found = [path for path in loop.paths() if len(path) == len(ours) and all(map(fits, ours, path))]
        if not found:
            raise _nothing(value, "loop", loop)
        if len(theirs) < len(ours):
            raise ScanifyError(
                f"the mapping of the case: expected {key} of the scan to stand at least as deep as {value} of the loop "
                f"({len(ours)} parts), got {len(theirs)}; what they stand in is to have the "
                "same names, or be mapped, too"
            )
        if OPEN not in ours[-1]:
            moved.append((ours, theirs))
            continue
        numbers = sorted({number for path in found if (number := number_in(ours[-1], path[-1])) is not None})
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            raise ScanifyError(f"the mapping of the case: the numbers of {value} leave some out: {numbers}")
        families.append(Family(ours, theirs, numbers[0], (len(numbers),)))
    rest = Renaming(tuple(families), tuple(moved))
    return replace(rest, families=tuple(_nested_axes(family, loop, scan) for family in families))


def _nested_axes(family: Family, loop: Module, scan: Module) -> Family:
    """Return the family with the axes of the scan for it: several for nested scans over one loop."""
    first = _at(loop, tuple(part.replace(OPEN, str(family.first)) for part in family.before))
    held = _at(scan, family.after)
    outer = sum(OPEN in part for part in family.before[:-1])
    if first is None or held is None or outer:
        return family
    axes = _axes(first, held, ())
    return replace(family, lead=axes) if axes is not None and math.prod(axes) == family.count else family


def _at(module: Module, path: Path) -> Module | None:
    for name in path:
        if name not in module.inside:
            return None
        module = module.inside[name]
    return module


def _nothing(path: str, which: str, module: Module) -> ScanifyError:
    names = [_text(each) for each in module.paths() if each]
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return ScanifyError(f"the mapping of the case: {path} is no module of the {which}; it has {shown}")
