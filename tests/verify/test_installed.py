"""Commands that run models say in one sentence which libraries they lack."""

import importlib.metadata
import importlib.util
import sys

import pytest

from scanify.errors import ScanifyError
from scanify.verify.installed import require


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({"jax": None, "equinox": None}, "needs jax and equinox; jax and equinox not found by"),
        ({"jax": None, "equinox": "0.13.8"}, "needs jax and equinox; jax not found by"),
        ({"jax": "0.4.30", "equinox": "0.13.8"}, "needs jax 0.10 and equinox 0.13 or newer; {} has jax 0.4.30."),
        ({"jax": "0.9.2", "equinox": "0.11.0"}, "or newer; {} has jax 0.9.2 and equinox 0.11.0."),
        ({"jax": "0.10.0", "equinox": "0.13.8"}, None),
        ({"jax": "0.12.0.1", "equinox": "1.0"}, None),
        ({"jax": "", "equinox": "0.13.dev1"}, None),
    ],
)
def test_what_is_missing_or_too_old_is_said(
    versions: dict[str, str | None], said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if not versions[name]:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name] or ""

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if versions[name] is None else object())
    monkeypatch.setattr(importlib.metadata, "version", version)
    if said is None:
        require("verification runs the model and")
        return
    with pytest.raises(ScanifyError) as error:
        require("verification runs the model and")
    assert str(error.value).startswith("verification runs the model and needs jax")
    assert said.format(sys.executable) in str(error.value)
    upgrade = "--upgrade " if "newer" in said else ""
    assert str(error.value).endswith(f'pip install {upgrade}"scanify-jax[jax]"')
