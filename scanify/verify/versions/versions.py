"""Both versions of a request: where each is imported from, which file is the case's module, and what it imported."""

from contextlib import AbstractContextManager
from pathlib import Path

from scanify.verify.cache.consulted import Consulted, Consulting, consulting, is_systems
from scanify.verify.request import Read, Request, Tree
from scanify.verify.versions.loaded import Version
from scanify.verify.versions.overlay import Overlay
from scanify.verify.versions.project import Project, search_places


def overlay_of(request: Request) -> Overlay:
    """The import machinery for both versions of `request`."""
    targets = [path for path in (request.target, request.rewritten_target) if path is not None]
    changed = [change.path for change in request.changes]
    overlay = Overlay(
        Project.around([*targets, *changed], request.case.path, request.directory, request.tree),
        {change.path: change.original for change in request.changes},
        {change.path: change.rewritten for change in request.changes},
    )
    if request.tree is not None:
        _in_trees(overlay, request, request.tree)
    elif request.rewritten_target is not None:
        for version in (overlay.original, overlay.rewritten):
            version.search = _search(request, version)
    return overlay


def target_of(request: Request, version: Version) -> Path:
    """The file whose module the case is given in this version."""
    rewritten = request.rewritten_target if version.name == "rewritten" else None
    return rewritten or request.target


def read_of(version: Version) -> Read:
    """What `version` has imported so far."""
    return Read(tuple(sorted(version.read.items())), tuple(sorted(version.missed)))


def consulting_of(overlay: Overlay) -> AbstractContextManager[Consulting]:
    """Inside, what the user's code consults is taken down; files of libraries count as part of these."""
    overlay.project.is_foreign("")  # looks up where Python lies, which must not begin while something else does so
    return consulting(
        lambda path: is_systems(path) or overlay.project.is_foreign(path),
        lambda frame: None if (version := overlay.version_of(frame)) is None else version.name,
    )


def consulted_by(overlay: Overlay, record: Consulting) -> Consulted:
    """What both versions have consulted so far, beside the modules that they imported."""
    sources = [path for version in (overlay.original, overlay.rewritten) for path in version.read]
    return record.found(overlay.is_library, sources)


def _in_trees(overlay: Overlay, request: Request, tree: Tree) -> None:
    """Each version imports from its own tree and runs in it; what lies outside of both is common to them."""
    own, other = overlay.rewritten, overlay.original
    found = [*search_places([target_of(request, own)], request.case.path), *map(Path, overlay.project.fallback)]
    places = [place for place in dict.fromkeys(found) if not place.is_relative_to(tree.copy)]
    own.search = tuple(map(str, places))
    other.search = tuple(str(tree.place(place)) for place in places)
    own.folder, other.folder = str(request.directory), str(tree.place(request.directory))


def _search(request: Request, version: Version) -> tuple[str, ...]:
    """Where a version that was written by hand imports from: never where only the other one lies."""
    places = search_places([target_of(request, version)], request.case.path, lambda path: version.is_file(str(path)))
    return tuple(map(str, places))
