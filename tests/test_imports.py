"""Which part may import what, each rule held by a test, and by a test of that test.

Every check runs in a process of its own, because this one has imported everything.
"""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
JAX = ("jax", "jaxlib", "equinox", "numpy")

MODEL = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __call__(self, x):
        return x + self.linear(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, *, key):
        self.layers = [Block(eqx.nn.Linear(4, 4, key=k)) for k in jax.random.split(key, 3)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def imported(code: str, names: tuple[str, ...], folder: Path) -> set[str]:
    """Which of the top-level modules `names` are imported once `code` has run in a fresh Python in `folder`."""
    probe = f"{code}\nimport sys\nprint('imported:', *(name for name in {names!r} if name in sys.modules))"
    command = [sys.executable, "-c", probe]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].removeprefix("imported:").split())


def environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


def is_command(path: Path) -> bool:
    return "@click.command" in path.read_text(encoding="utf-8")


def command(*arguments: str, code: int) -> str:
    return f"from scanify.cli import run\nassert run({list(arguments)!r}) == {code}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "plain.py").write_text("def f(xs):\n    for x in xs:\n        print(x)\n")
    return tmp_path


COMMANDS = sorted(path.stem for path in (ROOT / "scanify" / "commands").glob("*.py") if is_command(path))


class TestWithoutJax:
    @pytest.mark.parametrize(
        "code",
        [
            pytest.param("import scanify", id="import scanify"),
            pytest.param("import scanify.cli", id="the command line"),
            pytest.param(command("check", "model.py", code=1), id="check"),
            pytest.param(command("check", "--format", "json", "model.py", code=1), id="check as JSON"),
            pytest.param(command("rewrite", "--no-verify", "model.py", code=0), id="rewrite --no-verify"),
            pytest.param(command("rewrite", "--no-verify", "--diff", "model.py", code=1), id="rewrite --diff"),
            pytest.param(command("rules", code=0), id="rules"),
            pytest.param(command("explain", "SCN101", code=0), id="explain"),
            pytest.param("import scanify.verify.run", id="the parent's side of verification"),
            pytest.param(command("convert", "old.npz", "new.npz", code=2), id="convert without an option"),
        ],
    )
    def test_jax_stays_unimported(self, folder: Path, code: str) -> None:
        assert imported(code, JAX, folder) == set()

    @pytest.mark.parametrize("name", COMMANDS)
    def test_no_command_needs_it_to_say_what_it_does(self, folder: Path, name: str) -> None:
        assert imported(command(name, "--help", code=0), JAX, folder) == set()

    @pytest.mark.parametrize(
        "arguments",
        [
            ("verify", "model.py", "--case", "cases.py:case"),
            ("rewrite", "model.py", "--case", "cases.py:case"),
            ("profile", "model.py", "--case", "cases.py:case"),
            ("case", "model.py"),
            ("convert", "old.npz", "new.npz", "--stack", "l"),
            ("convert", "old.eqx", "new.eqx", "--like", "cases.py:case"),
            ("verify", "--replay", "proofs.json"),
        ],
        ids=" ".join,
    )
    def test_a_command_says_that_it_is_not_installed(self, folder: Path, arguments: tuple[str, ...]) -> None:
        (folder / "cases.py").write_text("def case(module):\n    return None\n")
        (folder / "proofs.json").write_text("{}")
        hidden = f"import sys\nsys.modules.update(dict.fromkeys({JAX!r}))\n"
        probe = [sys.executable, "-c", f"{hidden}{command(*arguments, code=2)}"]
        done = subprocess.run(probe, capture_output=True, text=True, cwd=folder, env=environment(), check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
        assert "pip install" in done.stderr

    def test_the_checker_of_certificates_needs_numpy_alone(self, folder: Path) -> None:
        code = "import scanify.replay.check, scanify.commands.verifying.certificates"
        assert imported(code, (*JAX, "libcst"), folder) == {"numpy"}

    def test_a_conversion_by_names_needs_numpy_alone(self, folder: Path) -> None:
        save = "import numpy\nnumpy.savez('old.npz', **{f'l.{at}.w': numpy.zeros(2) for at in range(2)})\n"
        code = save + command("convert", "old.npz", "new.npz", "--stack", "l", "--axis", "0", code=0)
        assert imported(code, JAX, folder) == {"numpy"}

    def test_this_would_see_jax(self, folder: Path) -> None:
        assert imported("import jax", JAX, folder) >= {"jax", "numpy"}
        assert imported("import scanify.nn", JAX, folder) >= {"jax", "equinox"}

    def test_this_would_see_a_command_that_fails(self, folder: Path) -> None:
        with pytest.raises(AssertionError):
            imported(command("check", "gone.py", code=0), JAX, folder)


LIGHT = sorted(
    path.parent
    for part in ("source", "analysis", "emit", "report", "pytest_plugin", "replay")
    for path in (ROOT / "scanify" / part).rglob("__init__.py")
)


FIRST = """
import importlib, sys

for folder in sys.argv[1:]:
    for module in folder.split(","):
        importlib.import_module(module)
    for name in [name for name in sys.modules if name.partition(".")[0] == "scanify"]:
        del sys.modules[name]
    print(folder, flush=True)
"""


@pytest.mark.whole
def test_the_files_of_a_package_can_be_the_first_that_are_imported() -> None:
    orders = []
    for folder in LIGHT:
        name = ".".join(folder.relative_to(ROOT).parts)
        modules = [f"{name}.{each.stem}" for each in sorted(folder.glob("*.py")) if each.stem != "__init__"]
        orders += [",".join([*some, name]) for some in (modules[:1], modules[-1:])]
    done = subprocess.run([sys.executable, "-c", FIRST, *orders], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.split() == orders, done.stderr


class TestWithoutLibcst:
    NAMES = ("libcst", "rich")

    def test_a_file_without_a_candidate_does_not_reach_it(self, folder: Path) -> None:
        assert imported(command("check", "plain.py", code=0), self.NAMES, folder) == set()
        assert imported(command("rewrite", "--no-verify", "plain.py", code=0), self.NAMES, folder) == set()

    def test_this_would_see_it(self, folder: Path) -> None:
        assert imported(command("check", "model.py", code=1), self.NAMES, folder) == set()
        assert imported(command("rewrite", "--no-verify", "--diff", "model.py", code=1), self.NAMES, folder) == {
            "libcst"
        }

    @pytest.mark.whole
    def test_fifty_thousand_lines_of_unrelated_code_do_not_reach_it(self, folder: Path) -> None:
        (folder / "long.py").write_text("x = 1\n" * 49_998 + "for i in range(3):\n    print(i)\n")
        assert imported(command("check", "long.py", code=0), self.NAMES, folder) == set()

    def test_the_runtime_leaves_the_tools_libraries_alone(self, folder: Path) -> None:
        assert imported("import scanify.nn", (*self.NAMES, "click"), folder) == set()


def test_importing_the_runtime_makes_jax_trace_nothing_again(tmp_path: Path) -> None:
    code = """
import equinox, jax
traced = []
f = jax.jit(lambda x: traced.append(x) or x)
f(1.0)
import scanify.nn, scanify.optim
f(1.0)
assert len(traced) == 1
"""
    assert imported(code, ("scanify",), tmp_path) == {"scanify"}


def imports_of(path: Path) -> set[str]:
    """Every module of scanify that the file imports anywhere, by its dotted name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute"
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "scanify"}


def modules(part: str) -> list[Path]:
    return sorted((ROOT / "scanify" / part).rglob("*.py"))


ALLOWED = {
    "jaxpr": {"errors", "jaxpr"},
    "nn": {"checkpoints", "errors", "jaxpr", "nn"},
    "source": {"analysis.facts", "analysis.plan", "errors", "source"},
    "analysis": {"analysis", "errors", "source", "on_call"},
    "checkpoints": {"checkpoints", "errors", "nn", "on_call"},
    "emit": {"analysis", "emit", "errors", "source", "on_call"},
    "optim": {"errors", "jaxpr", "nn", "optim"},
    "replay": {"errors", "jaxpr.primitives", "on_call", "replay"},
    "rolling": {"errors", "jaxpr", "nn", "rolling", "verify"},
    "verify": {"cache_folder", "errors", "jaxpr", "nn", "replay", "verify", "on_call"},
    "propose": {"analysis.plan", "errors", "propose", "verify", "on_call"},
}


class TestTheLayers:
    """What each part may know of the others, read from the source."""

    @pytest.mark.parametrize("part", ALLOWED)
    def test_a_part_knows_only_what_it_may(self, part: str) -> None:
        allowed = {"scanify", *(f"scanify.{name}" for name in ALLOWED[part])}
        for path in modules(part):
            for name in imports_of(path):
                known = (
                    name in allowed
                    or name == "scanify.__version__"
                    or any(name.startswith(f"{each}.") for each in allowed - {"scanify"})
                )
                assert known, f"{path.relative_to(ROOT)} imports {name}"

    def test_every_part_is_there(self) -> None:
        assert all(modules(part) for part in ALLOWED)

    def test_this_would_see_an_import(self, tmp_path: Path) -> None:
        (tmp_path / "m.py").write_text("def f():\n    from scanify.cli import main\n    import scanify.nn as nn\n")
        assert imports_of(tmp_path / "m.py") == {"scanify.cli", "scanify.cli.main", "scanify.nn"}


def imported_at_the_top(path: Path) -> set[str]:
    """Every module of scanify that importing the file imports, by its dotted name."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scanify"):
            found |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def packages_of(name: str) -> set[str]:
    """The packages around a module, which are imported before it."""
    parts = name.split(".")
    return {".".join(parts[:at]) for at in range(1, len(parts))}


def test_no_two_files_import_each_other() -> None:
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in modules("")}
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    graph = {name: (imported_at_the_top(path) & files.keys()) - {name} for name, path in files.items()}
    for name, others in graph.items():
        others |= set().union(*map(packages_of, others)) - packages_of(name) - {name}
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert order.index("scanify.errors") < order.index("scanify.pipeline") < order.index("scanify.commands.check")
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(graph | {"scanify.errors": {"scanify.pipeline"}}).prepare()


def inner_imports(text: str) -> list[int]:
    """The lines on which functions import something of scanify."""
    functions = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    imports = [node for each in functions for node in ast.walk(each) if isinstance(node, ast.ImportFrom)]
    return [node.lineno for node in imports if (node.module or "").startswith("scanify")]


def test_no_function_imports_something_of_our_own() -> None:
    assert not [(path, lines) for path in modules("") if (lines := inner_imports(path.read_text(encoding="utf-8")))]
    assert inner_imports("def f():\n    import ast\n    from scanify.cli import main\n") == [3]


FOLDERS = sorted({path.parent for path in (ROOT / "scanify").rglob("*.py")})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_file_has_at_most_400_lines_and_a_function_60(folder: Path) -> None:
    for path in folder.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 400, path.name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                assert node.end_lineno - node.lineno + 1 <= 60, f"{path.name}:{node.lineno} {node.name}"


ROOMS = sorted({path.parent for part in ("commands", "jaxpr", "replay", "report", "verify") for path in modules(part)})


@pytest.mark.parametrize("folder", ROOMS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_room_has_at_most_15_files(folder: Path) -> None:
    assert len(list(folder.glob("*.py"))) - 1 <= 15


@pytest.mark.whole
def test_no_field_of_a_dataclass_defaults_to_what_python_311_takes_for_mutable() -> None:
    """A `MappingProxyType` has a hash from Python 3.12 on: before, no dataclass takes one for a default."""
    assert not [
        place
        for path in sorted((ROOT / "scanify").rglob("*.py"))
        for place in unhashable_defaults(path.read_text(), path)
    ]
    text = "class A:\n    b: Mapping[str, int] = MappingProxyType({})\n    c: tuple[int, ...] = ()\n"
    assert unhashable_defaults(text, Path("a.py")) == ["a.py:2"]


def unhashable_defaults(text: str, path: Path) -> list[str]:
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    fields = [each for node in classes for each in node.body if isinstance(each, ast.AnnAssign) and each.value]
    return [f"{path}:{each.lineno}" for each in fields if "MappingProxyType(" in ast.unparse(each.value)]
