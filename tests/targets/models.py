"""The models of the tables: those of `fixtures/`, and of other frameworks their counterparts in `fixtures/<target>/`."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from scanify.emit.targets import arrays
from tests.fixture_helpers import FIXTURES, ROOT, Fixture, Texts

MODELS = tuple({each.name: each for each in FIXTURES}.values())


@dataclass(frozen=True)
class Counterpart(Fixture):
    """A model of another framework, in a file of its name; the file `cases.py` has a case of its name."""

    framework: str = ""

    @property
    def folder(self) -> Path:
        return ROOT / self.framework

    @property
    def before(self) -> Texts:
        return {self.target: (self.folder / f"{self.name}.py").read_text()}


def counterparts(framework: str) -> tuple[Counterpart, ...]:
    """The models of a framework, in the order of their cases."""
    cases = (ROOT / framework / "cases.py").read_text().splitlines()
    names = [
        line.removeprefix("def ").partition("(")[0] for line in cases if line.startswith("def ") and "(module)" in line
    ]
    return tuple(Counterpart(name, (name,), framework=framework) for name in names)


FRAMEWORKS = {name: counterparts(name) for name in ("nnx", "linen")}  # by the name of the target


def models(target: str) -> tuple[Fixture, ...]:
    """The models that a target is for."""
    return FRAMEWORKS.get(target, MODELS)


def lacks(target: str) -> str | None:
    """What has to be installed to run what a target writes, where it is not."""
    needed = {
        "haliax": "haliax",
        arrays.HALIAX: "haliax",
        arrays.LEVANTER: "levanter",
        **dict.fromkeys(FRAMEWORKS, "flax"),
    }.get(target)
    return needed if needed is not None and find_spec(needed) is None else None
