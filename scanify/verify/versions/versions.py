"""Both versions of a request: their import directories, the file of the case's module, and their imports."""

from contextlib import AbstractContextManager
from pathlib import Path

from scanify.verify.cache.consulted import Consulted, Consulting, consulting, is_systems
from scanify.verify.request import Read, Request, Tree
from scanify.verify.versions.loaded import Version
from scanify.verify.versions.overlay import Overlay
from scanify.verify.versions.project import Project, search_places


def overlay_of(request: Request) -> Overlay:
    """Return the import machinery for both versions of `request`."""
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
    """Return the file whose module the case uses in this version."""
    rewritten = request.rewritten_target if version.name == "rewritten" else None
    return rewritten or request.target


def read_of(version: Version) -> Read:
    """Return the files that `version` has imported so far."""
    return Read(tuple(sorted(version.read.items())), tuple(sorted(version.missed)))


def consulting_of(overlay: Overlay) -> AbstractContextManager[Consulting]:
    """Record the files that the user's code consults; files of libraries belong to the libraries."""
    overlay.project.is_foreign("")  # finds the directories of Python, which must not begin while other code does so
    return consulting(
        lambda path: is_systems(path) or overlay.project.is_foreign(path),
        lambda frame: None if (version := overlay.version_of(frame)) is None else version.name,
    )


def consulted_by(overlay: Overlay, record: Consulting) -> Consulted:
    """Return what both versions have consulted so far, besides the modules that they imported."""
    sources = [path for version in (overlay.original, overlay.rewritten) for path in version.read]
    return record.found(overlay.is_library, sources)


def _in_trees(overlay: Overlay, request: Request, tree: Tree) -> None:
    """Let each version import from its own tree and run in it; files outside of both are shared."""
    own, other = overlay.rewritten, overlay.original
    found = [*search_places([target_of(request, own)], request.case.path), *map(Path, overlay.project.fallback)]
    places = [place for place in dict.fromkeys(found) if not place.is_relative_to(tree.copy)]
    own.search = tuple(map(str, places))
    other.search = tuple(str(tree.place(place)) for place in places)
    own.folder, other.folder = str(request.directory), str(tree.place(request.directory))


def _search(request: Request, version: Version) -> tuple[str, ...]:
    """Return the import directories of a version written by hand: never one that has only the other version."""
    places = search_places([target_of(request, version)], request.case.path, lambda path: version.is_file(str(path)))
    return tuple(map(str, places))
