"""Two versions of a project in one process: which text is imported when, and what is left behind."""

import builtins
import importlib
import inspect
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scanify.verify.versions.overlay import Overlay
from scanify.verify.versions.project import Project, import_root, module_name

Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Writes files given as `path=text` pairs and gives the directory."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return tmp_path

    return write


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path: Path) -> Iterator[None]:
    def state() -> object:
        own = {name for name in sys.modules if name.startswith("tests.")} | {
            name
            for name, module in sys.modules.items()
            if str(getattr(module, "__file__", "")).startswith(str(tmp_path))
        }
        return own, list(sys.path), list(sys.meta_path), builtins.__import__, importlib.import_module

    before = state()
    yield
    assert state() == before


def overlay_of(root: Path, changes: dict[str, str], case: str = "cases.py") -> Overlay:
    """An overlay that keeps the texts on disk as originals and rewrites them to `changes`."""
    paths = {root / name: textwrap.dedent(text).encode() for name, text in changes.items()}
    project = Project.around(paths, root / case, root)
    return Overlay(project, {path: path.read_bytes() for path in paths}, paths)


def both(overlay: Overlay, path: Path, name: str) -> tuple[object, object]:
    """What the module at `path` has under `name`, in the original and in the rewritten version."""
    versions = (overlay.original, overlay.rewritten)
    before, after = (getattr(overlay.load(path, version), name) for version in versions)
    return before, after


def test_each_version_has_its_own_text(tree: Tree) -> None:
    root = tree({"model.py": "x = 1"})
    with overlay_of(root, {"model.py": "x = 2"}) as overlay:
        assert both(overlay, root / "model.py", "x") == (1, 2)
    assert (root / "model.py").read_text() == "x = 1"


def test_the_original_is_the_text_given_and_not_what_the_file_became(tree: Tree) -> None:
    root = tree({"model.py": "x = 1"})
    overlay = overlay_of(root, {"model.py": "x = 2"})
    (root / "model.py").write_text("x = 3")
    with overlay:
        assert both(overlay, root / "model.py", "x") == (1, 2)


def test_several_files_change_together_and_are_imported_by_others(tree: Tree) -> None:
    root = tree({"a.py": "x = 1", "b.py": "y = 10", "sum.py": "from a import x\nimport b\ntotal = x + b.y"})
    with overlay_of(root, {"a.py": "x = 2", "b.py": "y = 20"}) as overlay:
        assert both(overlay, root / "sum.py", "total") == (11, 22)


def test_relative_imports_work_under_the_proper_dotted_name(tree: Tree) -> None:
    root = tree({
        "pkg/__init__.py": "",
        "pkg/sub/__init__.py": "",
        "pkg/sub/model.py": "from ..blocks import x\nname = __name__",
        "pkg/blocks.py": "x = 1",
    })  # fmt: skip
    with overlay_of(root, {"pkg/blocks.py": "x = 2"}) as overlay:
        assert both(overlay, root / "pkg/sub/model.py", "x") == (1, 2)
        assert both(overlay, root / "pkg/sub/model.py", "name") == ("pkg.sub.model", "pkg.sub.model")


def test_a_package_that_imports_the_changed_module_hands_out_the_same_one(tree: Tree) -> None:
    root = tree({"pkg/__init__.py": "from .model import x", "pkg/model.py": "x = 1"})
    with overlay_of(root, {"pkg/model.py": "x = 2"}) as overlay:
        assert both(overlay, root / "pkg/__init__.py", "x") == (1, 2)
        package = overlay.load(root / "pkg/__init__.py", overlay.rewritten)
        assert package.model is overlay.load(root / "pkg/model.py", overlay.rewritten)


def test_an_init_file_can_be_rewritten(tree: Tree) -> None:
    root = tree({"pkg/__init__.py": "x = 1", "pkg/user.py": "from . import x"})
    with overlay_of(root, {"pkg/__init__.py": "x = 2"}) as overlay:
        assert both(overlay, root / "pkg/user.py", "x") == (1, 2)


def test_a_module_is_loaded_once_a_version(tree: Tree) -> None:
    root = tree({"model.py": "class Net: ..."})
    with overlay_of(root, {"model.py": "class Net: ..."}) as overlay:
        before, after = both(overlay, root / "model.py", "Net")
        assert before is not after
        assert both(overlay, root / "model.py", "Net") == (before, after)


@pytest.mark.parametrize("name", ["my-model.py", "types.py", "2d.py"])
def test_a_file_whose_name_cannot_be_imported_is_loaded_by_its_path(tree: Tree, name: str) -> None:
    root = tree({name: "x = 1"})
    with overlay_of(root, {name: "x = 2"}) as overlay:
        assert both(overlay, root / name, "x") == (1, 2)


def test_the_case_file_may_be_the_model_file(tree: Tree) -> None:
    root = tree({"model.py": "x = 1"})
    with overlay_of(root, {"model.py": "x = 2"}, case="model.py") as overlay:
        module = overlay.load(root / "model.py", overlay.rewritten)
        assert overlay.load(root / "model.py", overlay.rewritten) is module


def test_an_import_inside_a_function_is_served_by_the_callers_version(tree: Tree) -> None:
    root = tree({
        "pkg/__init__.py": "",
        "pkg/model.py": "def f():\n    from .blocks import x\n    import pkg.blocks\n    return x, pkg.blocks.x",
        "pkg/blocks.py": "x = 1",
    })  # fmt: skip
    with overlay_of(root, {"pkg/blocks.py": "x = 2"}) as overlay:
        before, after = both(overlay, root / "pkg/model.py", "f")
        assert callable(before) and callable(after)
        assert [after(), before(), after()] == [(2, 2), (1, 1), (2, 2)]


def test_import_module_inside_a_function_is_served_by_the_callers_version(tree: Tree) -> None:
    root = tree({"model.py": "import importlib\ndef f(): return importlib.import_module('b').x", "b.py": "x = 1"})
    with overlay_of(root, {"b.py": "x = 2"}) as overlay:
        before, after = both(overlay, root / "model.py", "f")
        assert callable(before) and callable(after)
        assert [after(), before(), after()] == [2, 1, 2]


def test_an_import_that_belongs_to_no_version_is_an_error(tree: Tree) -> None:
    root = tree({"model.py": "x = 1"})
    with overlay_of(root, {"model.py": "x = 2"}) as overlay:
        overlay.load(root / "model.py", overlay.original)
        with pytest.raises(ImportError, match="unknown which of the two versions is meant"):
            importlib.import_module("model")


def test_outside_a_version_no_module_of_the_project_is_there(tree: Tree) -> None:
    root = tree({"model.py": "import helper", "helper.py": "x = 1"})
    with overlay_of(root, {"model.py": "import helper"}) as overlay:
        overlay.load(root / "model.py", overlay.original)
        assert not {"model", "helper"} & sys.modules.keys()
        with overlay.active(overlay.original):
            assert {"model", "helper"} <= sys.modules.keys()


def test_a_failed_import_leaves_the_other_version_alone(tree: Tree) -> None:
    root = tree({"model.py": "x = 1"})
    with overlay_of(root, {"model.py": "x = nope"}) as overlay:
        with pytest.raises(NameError, match="nope"):
            overlay.load(root / "model.py", overlay.rewritten)
        assert overlay.load(root / "model.py", overlay.original).x == 1
        assert overlay.current is None


def test_no_bytecode_is_read_or_written(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"model.py": "import other", "other.py": "x = 1"})
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with overlay_of(root, {"model.py": "import other"}) as overlay:
        overlay.load(root / "model.py", overlay.rewritten)
    assert sorted(path.name for path in root.rglob("*")) == ["model.py", "other.py"]


def test_the_versions_have_different_file_names_that_are_shown_alike(tree: Tree) -> None:
    root = tree({"pkg/__init__.py": "", "pkg/model.py": "def f(): ...", "pkg/same.py": "def f(): ..."})
    with overlay_of(root, {"pkg/model.py": "def f(): ..."}) as overlay:
        functions = both(overlay, root / "pkg/model.py", "f")
        names = [f.__code__.co_filename for f in functions if inspect.isfunction(f)]
        assert len(set(names)) == 2 and names[0] == str(root / "pkg/model.py")
        assert [overlay.files(name) for name in names] == ["pkg/model.py", "pkg/model.py"]
        assert overlay.files(str(root / "pkg/same.py")) == "pkg/same.py"


@pytest.mark.parametrize(
    "name", [traceback.__file__, pytest.__file__, inspect.getfile(Overlay), "<string>", "model.py"]
)
def test_files_of_libraries_are_not_the_users(tree: Tree, name: str) -> None:
    root = tree({"model.py": ""})
    assert overlay_of(root, {"model.py": ""}).files(name) is None


def test_a_library_inside_the_project_is_not_the_users(tree: Tree) -> None:
    root = tree({"model.py": "", ".venv/lib/python3.11/site-packages/lib.py": ""})
    overlay = overlay_of(root, {"model.py": ""})
    assert overlay.files(str(root / ".venv/lib/python3.11/site-packages/lib.py")) is None


def test_tracebacks_show_the_line_of_the_version_that_ran(tree: Tree) -> None:
    root = tree({"model.py": "def f():\n    raise KeyError('original')"})
    with overlay_of(root, {"model.py": "# moved\ndef f():\n    raise KeyError('rewritten')"}) as overlay:
        shown = []
        for f in both(overlay, root / "model.py", "f"):
            assert callable(f)
            try:
                f()
            except KeyError as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                shown.append((frame.lineno, frame.line))
    assert shown == [(2, "raise KeyError('original')"), (3, "raise KeyError('rewritten')")]


def test_the_source_of_a_rewritten_function_can_be_inspected(tree: Tree) -> None:
    root = tree({"model.py": "def f(): return 1\n"})
    with overlay_of(root, {"model.py": "def f(): return 2\n"}) as overlay:
        sources = [inspect.getsource(f) for f in both(overlay, root / "model.py", "f") if inspect.isfunction(f)]
    assert sources == ["def f(): return 1\n", "def f(): return 2\n"]


def test_an_encoding_declared_in_the_text_is_obeyed(tree: Tree) -> None:
    root = tree({"model.py": "x = 1"})
    path = root / "model.py"
    rewritten = "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1")
    project = Project.around([path], root / "cases.py", root)
    with Overlay(project, {path: path.read_bytes()}, {path: rewritten}) as overlay:
        assert overlay.load(path, overlay.rewritten).x == "é"


def test_a_file_reached_through_a_link_is_rewritten_too(tree: Tree) -> None:
    root = tree({"shared/model.py": "x = 1", "app/user.py": "from model import x"})
    (root / "app/model.py").symlink_to(root / "shared/model.py")
    with overlay_of(root, {"shared/model.py": "x = 2"}, case="app/user.py") as overlay:
        assert both(overlay, root / "app/user.py", "x") == (1, 2)


HOOK = """
    import sys
    from importlib.abc import MetaPathFinder
    from importlib.machinery import PathFinder, SourceFileLoader

    class Loader(SourceFileLoader):
        pass

    class Hook(MetaPathFinder):
        def find_spec(self, fullname, path, target=None):
            spec = PathFinder.find_spec(fullname, path, target)
            if spec is not None and isinstance(spec.loader, SourceFileLoader):
                spec.loader = Loader(spec.loader.name, spec.loader.path)
            return spec

    hook = Hook()
    sys.meta_path.insert(0, hook)
    {then}
    sys.meta_path.remove(hook)
"""


def test_an_import_hook_of_the_user_does_not_get_around_the_overlay(tree: Tree) -> None:
    root = tree({"model.py": HOOK.replace("{then}", "from blocks import x"), "blocks.py": "x = 1"})
    with overlay_of(root, {"blocks.py": "x = 2"}) as overlay:
        assert both(overlay, root / "model.py", "x") == (1, 2)


def test_a_module_loaded_from_disk_behind_the_overlay_is_an_error(tree: Tree) -> None:
    load = """
from importlib.util import module_from_spec, spec_from_file_location
import sys, pathlib
spec = spec_from_file_location("blocks", pathlib.Path(__file__).with_name("blocks.py"))
sys.modules["blocks"] = module_from_spec(spec)
spec.loader.exec_module(sys.modules["blocks"])
"""
    root = tree({"model.py": load, "blocks.py": "x = 1"})
    with (
        overlay_of(root, {"blocks.py": "x = 2"}) as overlay,
        pytest.raises(ImportError, match=r"blocks was loaded from .*blocks\.py by SourceFileLoader"),
    ):
        overlay.load(root / "model.py", overlay.rewritten)


def test_modules_of_the_project_that_were_there_before_are_taken_out(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"stale_model.py": "x = 1"})
    monkeypatch.syspath_prepend(root)
    importlib.import_module("stale_model")
    with overlay_of(root, {"stale_model.py": "x = 2"}) as overlay:
        assert both(overlay, root / "stale_model.py", "x") == (1, 2)


def test_the_import_root_is_the_first_directory_that_is_no_package(tree: Tree) -> None:
    root = tree({"src/pkg/__init__.py": "", "src/pkg/sub/__init__.py": "", "src/pkg/sub/m.py": "", "alone.py": ""})
    assert import_root(root / "src/pkg/sub/m.py") == root / "src"
    assert module_name(root / "src/pkg/sub/m.py") == "pkg.sub.m"
    assert module_name(root / "src/pkg/sub/__init__.py") == "pkg.sub"
    assert (import_root(root / "alone.py"), module_name(root / "alone.py")) == (root, "alone")


def test_the_project_is_shown_relative_to_the_directory_or_else_to_its_root(tree: Tree) -> None:
    root = tree({"project/pyproject.toml": "", "project/src/model.py": "", "project/tests/cases.py": "", "else/x": ""})
    model, cases = root / "project/src/model.py", root / "project/tests/cases.py"
    assert Project.around([model], cases, root).display(str(model)) == "project/src/model.py"
    assert Project.around([model], cases, root / "else").display(str(model)) == "model.py"
    assert Project.around([model], cases, root / "else").owns(str(root / "project/lib/other.py"))


def test_a_module_outside_the_project_that_imports_it_gets_the_version_too(
    tree: Tree, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "loose_helper.py").write_text("from model import x")
    monkeypatch.syspath_prepend(elsewhere)
    root = tree({"model.py": "x = 1", "cases.py": "from loose_helper import x"})
    with overlay_of(root, {"model.py": "x = 2"}) as overlay:
        assert both(overlay, root / "cases.py", "x") == (1, 2)
        assert "loose_helper" not in sys.modules


def test_a_library_that_was_imported_before_stays_as_it_is(
    tree: Tree, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path_factory.mktemp("checkout")
    (checkout / "early_library").mkdir()
    (checkout / "early_library/__init__.py").write_text("class Base: ...")
    (checkout / "early_library/late.py").write_text("from . import Base")
    monkeypatch.syspath_prepend(checkout)
    base = importlib.import_module("early_library").Base
    try:
        root = tree({"model.py": "from early_library.late import Base"})
        with overlay_of(root, {"model.py": "from early_library.late import Base"}) as overlay:
            assert both(overlay, root / "model.py", "Base") == (base, base)
            assert overlay.files(str(checkout / "early_library/late.py")) is None
    finally:
        for name in [name for name in sys.modules if name.startswith("early_library")]:
            del sys.modules[name]


def test_packages_without_an_init_file_are_found_from_the_projects_directory(tree: Tree) -> None:
    root = tree({
        "pyproject.toml": "",
        "src/spread/blocks.py": "x = 1",
        "src/spread/model.py": "from spread.blocks import x",
        "cases/cases.py": "from spread.model import x",
    })  # fmt: skip
    with overlay_of(root, {"src/spread/blocks.py": "x = 2"}, case="cases/cases.py") as overlay:
        assert both(overlay, root / "cases/cases.py", "x") == (1, 2)


def test_the_projects_directory_shadows_no_library(tree: Tree) -> None:
    root = tree({"pyproject.toml": "", "click/__init__.py": "", "src/model.py": "import click\nfile = click.__file__"})
    with overlay_of(root, {"src/model.py": "import click\nfile = click.__file__"}, case="src/model.py") as overlay:
        assert not str(both(overlay, root / "src/model.py", "file")[0]).startswith(str(root))
