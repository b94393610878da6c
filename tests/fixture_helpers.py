"""The whole models of `fixtures/`: their texts, and both versions loaded under one module name from a folder each."""

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent / "fixtures"

Texts = Mapping[str, str]


@dataclass(frozen=True)
class Fixture:
    """One model before and after the rewrite, with the cases that are small enough to compare.

    `package` is the name of the package that the model is in, None where it is one module, called `model` here.
    `stack` and `remat` are the options that give the text after; `kind` is what the loop is found to be.
    """

    name: str
    cases: tuple[str, ...]
    stack: str = "init"
    remat: str = "nested"
    package: str | None = None
    kind: str = "fold"

    def __str__(self) -> str:
        return self.name if self.stack == "init" else f"{self.name} stacked in the call"

    @property
    def folder(self) -> Path:
        return ROOT / self.name

    @property
    def target(self) -> str:
        """The file that has the loop."""
        return "model.py" if self.package is None else f"{self.package}/model.py"

    @property
    def before(self) -> Texts:
        """The texts by path, as people wrote them."""
        if self.package is None:
            return {self.target: (self.folder / "before.py").read_text()}
        return _tree(self.folder / "before")

    @property
    def after(self) -> Texts:
        """The same files as the rewrite must leave them. A package's folder holds only those that change."""
        suffix = "" if self.stack == "init" else f"_{self.stack}"
        if self.package is None:
            return {self.target: (self.folder / f"after_array_stacked{suffix}.py").read_text()}
        return {**self.before, **_tree(self.folder / f"after_array_stacked{suffix}")}

    @property
    def case_file(self) -> Path:
        return self.folder / "cases.py"


FIXTURES = (
    Fixture("gpt", ("gpt_inference", "gpt_small")),
    Fixture("gpt", ("gpt_small",), stack="call"),
    Fixture("llama", ("llama_training", "llama", "llama_bf16")),
    Fixture("vit", ("vit",)),
    Fixture("mixer", ("mixer",)),
    Fixture("moe", ("moe",)),
    Fixture("film", ("film",)),
    Fixture("film", ("film",), stack="call"),
    Fixture("encoder", ("encoder",), package="encoder"),
    Fixture("alternating", ("alternating",), kind="group"),
    Fixture("dense_expert", ("dense_expert",), kind="group"),
    Fixture("drop_path", ("drop_path",), kind="group"),
    Fixture("hidden_states", ("hidden_states", "last_state"), kind="scan"),
)


def fixture(name: str, stack: str = "init") -> Fixture:
    return next(each for each in FIXTURES if (each.name, each.stack) == (name, stack))


@dataclass(frozen=True)
class Refused:
    """A model that must be left as it is: its first line says which rule refuses the loop on which line, and why."""

    path: Path
    rule: str
    line: int


def refused() -> list[Refused]:
    found = []
    for path in sorted((ROOT / "refused").glob("*.py")):
        first = path.read_text().partition("\n")[0]
        match = re.fullmatch(r"# refused: (SCN2\d\d), line (\d+): \S.*", first)
        assert match is not None, f"{path.name}: the first line must be `# refused: SCN2xx, line N: why`, got {first!r}"
        found.append(Refused(path, match[1], int(match[2])))
    return found


def left_alone() -> list[Path]:
    return sorted((ROOT / "left_alone").glob("*.py"))


def write(texts: Texts, folder: Path) -> Path:
    """Write the texts below `folder`, and give it back."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def read(folder: Path) -> dict[str, str]:
    """What is below `folder` now, in the form of `write`."""
    return _tree(folder)


def thunk(folder: Path, target: str, case_file: Path, case: str) -> Callable[[], Any]:
    """Load the model below `folder` and its case; what is returned builds the model and the arguments of its call.

    Every version is loaded under the same module name, as the qualified names of the classes tell which belong
    together, and is out of `sys.modules` afterwards.
    """
    module = load(target.removesuffix(".py").replace("/", "."), folder)
    build = getattr(load(case_file.stem, case_file.parent), case)
    return lambda: build(module)


def files(name: str) -> str | None:
    """How to show a source file: the models by name, and nothing else."""
    path = Path(name)
    return path.name if path.name in ("model.py", "layers.py") and "site-packages" not in path.parts else None


def replaced(texts: Texts, path: str, *changes: tuple[str, str]) -> Texts:
    """The texts with each piece replaced by another; it must be there exactly once."""
    text = texts[path]
    for old, new in changes:
        assert text.count(old) == 1, f"expected {old!r} once in {path}, found it {text.count(old)} times"
        text = text.replace(old, new)
    return {**texts, path: text}


def load(name: str, folder: Path) -> ModuleType:
    top = name.partition(".")[0]
    assert top not in sys.modules, f"{top} is the name of another module"
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
        for loaded in [each for each in sys.modules if each.partition(".")[0] == top]:
            del sys.modules[loaded]


def _tree(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.py"))}
