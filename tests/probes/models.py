"""The models that are mutated: whole ones of `fixtures/`, and smaller ones in `fixtures/probed`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tests.fixture_helpers import FIXTURES, ROOT

WRITTEN = ROOT / "probed"


@dataclass(frozen=True)
class Model:
    """The files of a model, the one with its loop, and a small case: the name of a function in `case_text`."""

    name: str
    files: Mapping[str, str]
    target: str
    case_text: str
    case: str


@cache
def models() -> tuple[Model, ...]:
    """Return all models, in a fixed order."""
    found = []
    for each in FIXTURES:
        if each.stack == "init":
            case = next((name for name in each.cases if name.endswith("small")), each.cases[0])
            found.append(Model(each.name, each.before, each.target, each.case_file.read_text(), case))
    cases = WRITTEN / "cases.py"
    small = [
        Model(path.stem, {"model.py": path.read_text()}, "model.py", cases.read_text(), path.stem)
        for path in sorted(set(WRITTEN.glob("*.py")) - {cases})
    ]
    return (*found, *small)
