from pathlib import Path

import pytest

from tests.command import Tool


@pytest.fixture
def tool(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    (tmp_path / ".git").mkdir()  # so that no configuration above is found
    return Tool(tmp_path, capfd, monkeypatch)
