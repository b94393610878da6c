"""Unroll a project: restore kept originals, and derive the other loops from the source."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from scanify.analysis.plan import Plan
from scanify.emit.unroll.unroll_texts import Turned, Unrolled, unroll_texts
from scanify.pipeline import Project
from scanify.source.read import encode
from scanify.unrolling.inverse import elsewhere_of, gives_back, obligations_of
from scanify.unrolling.kept import Rewrite, kept
from scanify.unrolling.merged import merged


@dataclass(frozen=True)
class Unrolling:
    """The effects of unrolling a project; nothing is written yet.

    `restored` are the files restored to their originals, `turned` the other scans that become loops, which are unsafe
    if there are `obligations`. Places in `left` stay as scans, and files in `beyond` have to be named first. `texts`
    are the new texts of changed files, `held` the texts not written because they are unsafe, and `loops` the plans that
    would rewrite the new texts to scans. `policies` are the policies of the stacks. `elsewhere` are the obligations
    that no case can show: other code may need a stack that becomes a list.
    """

    texts: Mapping[Path, str] = field(default_factory=dict)
    held: Mapping[Path, str] = field(default_factory=dict)
    restored: tuple[Path, ...] = ()
    turned: tuple[Turned, ...] = ()
    left: tuple[Turned, ...] = ()
    beyond: tuple[Path, ...] = ()
    obligations: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    policies: tuple[tuple[Path, int, str], ...] = ()
    loops: tuple[Plan, ...] = ()

    def changes(self, project: Project) -> dict[Path, tuple[bytes, bytes]]:
        """Return the bytes before and after of the files that change."""
        return {
            path: (encode(source, source.text), encode(source, text))
            for path, text in sorted(self.texts.items())
            if (source := project.source(path)).text != text
        }


def unroll_project(project: Project, *, unsafe: bool = False) -> Unrolling:
    """Turn the stacks of the project's sources back into lists, and the scans over them into loops."""
    texts, restored, beyond = _restored(project)
    left = project.with_texts(texts)
    found = _read_off(left)
    beyond = tuple(sorted({*beyond, *found.beyond}))
    if not found.texts:
        return Unrolling(texts, {}, restored, (), found.left, beyond)
    obligations, elsewhere, plans = _not_shown(left, found)
    result = Unrolling(
        {**texts, **found.texts},
        restored=restored,
        turned=found.turned,
        left=found.left,
        beyond=beyond,
        obligations=obligations,
        elsewhere=elsewhere,
        policies=found.policies,
        loops=plans,
    )
    return result if unsafe or not obligations else held_back(result, texts)


def held_back(result: Unrolling, texts: Mapping[Path, str]) -> Unrolling:
    """Hold back everything except `texts`."""
    return replace(result, texts=texts, held=result.texts)


def _read_off(project: Project) -> Unrolled:
    own = {source.path: source.text for source in (*project.others, *project.sources)}
    if not any("scanify" in text for text in own.values()):
        return Unrolled()
    return unroll_texts(own, {source.path for source in project.sources})


def _restored(project: Project) -> tuple[dict[Path, str], tuple[Path, ...], tuple[Path, ...]]:
    """Return the texts of files before their rewrite, the restored files, and the files that have to be named first."""
    texts: dict[Path, str] = {}
    restored: set[Path] = set()
    beyond: set[Path] = set()
    named = {source.path for source in project.sources}
    for rewrite in kept(project.root):
        if not named & set(rewrite.after):
            continue
        now = {path: texts.get(path) or _text(project, path) for path in rewrite.after}
        before = _before(project.with_texts(texts), rewrite, now)
        if before is None:
            continue
        if not set(before) <= named:
            beyond |= set(before) - named
            continue
        texts |= before
        restored |= set(before)
    return texts, tuple(sorted(restored)), tuple(sorted(beyond))


def _text(project: Project, path: Path) -> str | None:
    source = project.read(path)
    return source.text if source is not None else None


def _before(project: Project, rewrite: Rewrite, now: Mapping[Path, str | None]) -> dict[Path, str] | None:
    """Return the files of a rewrite as before it, with later changes merged; None if that is not possible.

    If there are no later changes, the originals are correct. Otherwise rewriting the result must give the current
    texts.
    """
    if all(now[path] == text for path, text in rewrite.after.items()):
        return dict(rewrite.before)
    found = {}
    for path, after in rewrite.after.items():
        text = now[path]
        old = merged(after, text, rewrite.before[path]) if text is not None else None
        if text is None or old is None or old == text:
            return None
        found[path] = old
    wanted = {path: text for path, text in now.items() if text is not None}
    named = {source.path for source in project.sources}
    if not set(found) <= named:
        return found
    options = {"stack": rewrite.stack, "remat": rewrite.remat, "target": rewrite.target}
    return found if gives_back(project, found, wanted, **options) is not None else None  # type: ignore[arg-type]


def _not_shown(project: Project, found: Unrolled) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Plan, ...]]:
    """Return the obligations of derived loops, those about other code, and the plans that give the scans back."""
    wanted = {path: project.source(path).text for path in found.texts}
    plans = gives_back(project, found.texts, wanted)
    if plans is not None:
        return tuple(obligations_of(plans)), elsewhere_of(plans), plans
    loops = project.with_texts(found.texts).analyse().loops
    elsewhere = elsewhere_of(loop for loop in loops if isinstance(loop, Plan))
    unlike = "a rewrite of the loops gives other scans than these, so that nothing shows that they are equal"
    return (unlike, *elsewhere), elsewhere, ()
