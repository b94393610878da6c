"""Versions that have different files, or import from different places; and what each version is known to have read."""

import hashlib
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scanify.verify.cases.case import CaseSpec
from scanify.verify.objects.statics import qualified, users_modules
from scanify.verify.request import Change, Request
from scanify.verify.versions.loaded import REWRITTEN
from scanify.verify.versions.overlay import Overlay
from scanify.verify.versions.versions import overlay_of, read_of, target_of

Tree = Callable[[dict[str, str]], Path]
Change_ = tuple[str | None, str | None]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return tmp_path

    return write


def request_of(root: Path, target: str, changes: dict[str, Change_], after: str | None = None) -> Request:
    """A change by hand, of the texts before and after by file; None where there is no file."""

    def data(text: str | None) -> bytes | None:
        return None if text is None else text.encode()

    return Request(
        case=CaseSpec(root / "cases.py", "f", "cases.py:f"),
        target=root / target,
        changes=tuple(Change(root / name, *map(data, texts)) for name, texts in changes.items()),
        policies=(None,),
        requested=None,
        abstract=False,
        measure=False,
        directory=root,
        rewritten_target=root / (after or target),
    )


def both(overlay: Overlay, request: Request, name: str) -> tuple[Any, Any]:
    """What the case's module has under `name`, in the original and in the rewritten version."""
    found = [
        getattr(overlay.load(target_of(request, version), version), name)
        for version in (overlay.original, overlay.rewritten)
    ]
    return found[0], found[1]


def values(root: Path, target: str, changes: dict[str, Change_], name: str = "x", after: str | None = None) -> Any:
    request = request_of(root, target, changes, after)
    with overlay_of(request) as overlay:
        return both(overlay, request, name)


OLD = "from blocks import y as x"
NEW = "from layers import y as x"


def test_a_file_that_was_deleted_is_in_the_original_alone(tree: Tree) -> None:
    root = tree({"model.py": "x = 2", "cases.py": ""})
    assert values(root, "model.py", {"model.py": (OLD, "x = 2"), "blocks.py": ("y = 1", None)}) == (1, 2)


def test_a_file_that_was_added_is_in_the_rewritten_version_alone(tree: Tree) -> None:
    old = "try:\n    from layers import y as x\nexcept ModuleNotFoundError:\n    x = 1"
    root = tree({"model.py": NEW, "layers.py": "y = 2", "cases.py": ""})
    assert values(root, "model.py", {"model.py": (old, NEW), "layers.py": (None, "y = 2")}) == (1, 2)


def test_a_class_that_moved_to_a_new_file_is_found_in_both_under_one_name(tree: Tree) -> None:
    block = "class Block: ..."
    new = "from layers import Block"
    root = tree({"model.py": new, "layers.py": block, "cases.py": ""})
    request = request_of(root, "model.py", {"model.py": (block, new), "layers.py": (None, block)})
    with overlay_of(request) as overlay, users_modules(overlay.is_users):
        before, after = both(overlay, request, "Block")
        assert (before.__module__, after.__module__) == ("model", "layers")
        assert qualified(before) == qualified(after)
        assert qualified(before) != qualified(replace)  # type: ignore[arg-type]
    assert qualified(before) != qualified(after)


@pytest.mark.parametrize("init", [True, False], ids=["a package", "a package without __init__.py"])
def test_a_whole_package_that_is_gone_is_imported_from_memory(tree: Tree, init: bool) -> None:
    old = "from parts.deep.blocks import y as x\nfrom parts.deep import blocks"
    changes: dict[str, Change_] = {"model.py": (old, "x = 2"), "parts/deep/blocks.py": ("from . import z as y", None)}
    changes["parts/deep/blocks.py"] = ("y = 1", None)
    if init:
        changes |= {"parts/__init__.py": ("", None), "parts/deep/__init__.py": ("z = 1", None)}
        changes["parts/deep/blocks.py"] = ("from . import z as y", None)
    root = tree({"model.py": "x = 2", "cases.py": ""})
    assert values(root, "model.py", changes) == (1, 2)


def test_a_module_that_became_a_package_is_each_in_its_version(tree: Tree) -> None:
    root = tree({"model.py": OLD, "blocks/__init__.py": "from .one import y", "blocks/one.py": "y = 2", "cases.py": ""})
    changes: dict[str, Change_] = {
        "blocks.py": ("y = 1", None),
        "blocks/__init__.py": (None, "from .one import y"),
        "blocks/one.py": (None, "y = 2"),
    }
    assert values(root, "model.py", changes) == (1, 2)


def test_the_target_may_have_become_part_of_a_package(tree: Tree) -> None:
    root = tree({"pkg/__init__.py": "", "pkg/model.py": "x = __name__", "cases.py": ""})
    changes: dict[str, Change_] = {"pkg/__init__.py": (None, "")}
    assert values(root, "pkg/model.py", changes) == ("model", "pkg.model")


def test_a_new_file_does_not_shadow_a_library_in_the_original(tree: Tree) -> None:
    text = "import click\nx = hasattr(click, 'command')"
    root = tree({"model.py": text, "click.py": "", "cases.py": ""})
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "click"}
    for name in kept:
        del sys.modules[name]
    try:
        assert values(root, "model.py", {"click.py": (None, "")})[0]
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "click"]:
            del sys.modules[name]
        sys.modules.update(kept)


def test_two_files_in_one_folder_keep_their_names_and_may_import_each_other(tree: Tree) -> None:
    one, two = "class Block: ...\nx = __name__", "from loop import Block\nx = __name__"
    root = tree({"loop.py": one, "scan.py": two, "cases.py": ""})
    changes: dict[str, Change_] = {"loop.py": (one, one), "scan.py": (two, two)}
    assert values(root, "loop.py", changes, after="scan.py") == ("loop", "scan")
    before, after = values(root, "loop.py", changes, "Block", after="scan.py")
    assert before is not after and before.__module__ == after.__module__ == "loop"


def test_two_files_in_two_folders_import_the_neighbours_they_have_there(tree: Tree) -> None:
    text = "from pkg.blocks import y as x"
    root = tree({
        "old/pkg/__init__.py": "", "old/pkg/model.py": "from .blocks import y as x", "old/pkg/blocks.py": "y = 1",
        "new/pkg/__init__.py": "", "new/pkg/model.py": text, "new/pkg/blocks.py": "y = 2", "cases.py": "",
    })  # fmt: skip
    changes: dict[str, Change_] = {
        "old/pkg/model.py": ("from .blocks import y as x",) * 2, "new/pkg/model.py": (text, text)
    }  # fmt: skip
    path = list(sys.path)
    assert values(root, "old/pkg/model.py", changes, after="new/pkg/model.py") == (1, 2)
    assert sys.path == path


def test_frames_of_the_two_files_tell_their_version(tree: Tree) -> None:
    text = "def f(): ..."
    root = tree({"loop.py": text, "scan.py": text, "cases.py": ""})
    changes: dict[str, Change_] = {"loop.py": (text, text), "scan.py": (text, text)}
    before, after = values(root, "loop.py", changes, "f", after="scan.py")
    assert before.__code__.co_filename == str(root / "loop.py")
    assert after.__code__.co_filename == str(root / "scan.py") + REWRITTEN


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_what_was_read_and_what_was_not_there_is_known(tree: Tree) -> None:
    root = tree({"model.py": "import blocks\nimport colorsys", "blocks.py": "y = 0", "cases.py": ""})
    sys.modules.pop("colorsys", None)
    request = request_of(root, "model.py", {"blocks.py": ("y = 1", "y = 2")})
    with overlay_of(request) as overlay:
        for version, text in ((overlay.original, "y = 1"), (overlay.rewritten, "y = 2")):
            overlay.load(target_of(request, version), version)
            read = read_of(version)
            assert dict(read.files) == {
                str(root / "model.py"): sha("import blocks\nimport colorsys"), str(root / "blocks.py"): sha(text)
            }  # fmt: skip
            names = ["blocks/__init__.py", "model/__init__.py"]
            if version is overlay.original:  # the other one finds it loaded
                names += ["colorsys.py", "colorsys/__init__.py"]
            assert {str(root / name) for name in names} <= set(read.missed)
            assert not {str(root / name) for name in ("blocks.py", "model.py")} & set(read.missed)
