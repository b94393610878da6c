"""The examples of `docs/how-to/reroll.md`: each is run, and its layers are a scan."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

import scanify
from tests.reroll.programs import equal, scans

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "reroll.md"
FENCES = re.findall(r"```python ?(\w*)\n(.*?)```", PAGE.read_text(), re.DOTALL)
SETUP = "".join(text for role, text in FENCES if role == "setup")
EXAMPLES = [(role, text) for role, text in FENCES if role != "setup"]


@pytest.mark.parametrize(("role", "text"), EXAMPLES, ids=[text.split("\n")[0] for _, text in EXAMPLES])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_example_rolls_its_layers(role: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if role and importlib.util.find_spec(role) is None:
        pytest.skip(f"{role} is not installed")
    found: list[list[int]] = []
    reroll = scanify.reroll

    def watched(f: Any, **options: Any) -> Any:
        rerolled = reroll(f, **options)

        def call(*args: Any) -> Any:
            found.append(scans(rerolled, *args))
            return rerolled(*args)

        return call

    # A framework's second example goes on with the model of its first.
    before = "".join(code for other, code in EXAMPLES[: EXAMPLES.index((role, text))] if role and other == role)
    names: dict[str, Any] = {"scanify": scanify}
    exec(SETUP + before, names)
    monkeypatch.setattr(scanify, "reroll", watched)
    exec(text, names)
    ours = names["y"]
    monkeypatch.setattr(scanify, "reroll", lambda f, **options: f)
    exec(text, names)
    (lengths,) = found
    assert len(lengths) == 1
    assert lengths[0] >= 10
    equal(ours, names["y"], 1e-5)
