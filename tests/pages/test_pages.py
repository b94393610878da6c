"""Every block of every page of docs/ is run, or says why it is not, and shows what comes out."""

import warnings
from pathlib import Path

import pytest

from tests.pages.blocks import Block, blocks, unfenced
from tests.pages.place import ROOT, Differs, Place, agree

PAGES = sorted((ROOT / "docs").rglob("*.md"))
# They verify a GPT many times over.
LONG = {"ci.md", "profile.md", "rewrite.md", "targets.md", "tutorial.md", "unroll.md", "verify.md"}
TO_RUN = [
    pytest.param(page, marks=[pytest.mark.whole] if page.name in LONG else [], id=str(page.relative_to(ROOT / "docs")))
    for page in PAGES
    if any(not block.not_run for block in blocks(page))
]


@pytest.mark.parametrize("page", TO_RUN)
def test_the_blocks_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("CI", "SCANIFY_CACHE_DIR"):  # a page is read at home, where results are kept in the folder
        monkeypatch.delenv(name, raising=False)
    place = Place(tmp_path, page.name)
    for block in blocks(page):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # those of other libraries
            try:
                text = place.do(block)
            except Exception as error:
                raise AssertionError(f"{page}:{block.line}: {error!r}") from error
        assert text is None or text == block.text, f"{page}:{block.line}: see `python -m tests.pages`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_all_code_is_in_fences(page: Path) -> None:
    assert unfenced(page) == []


class TestWhatIsFound:
    """That a page which is no longer right fails."""

    @pytest.fixture
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
        monkeypatch.chdir(tmp_path)
        return Place(tmp_path)

    @staticmethod
    def block(language: str, text: str, title: str | None = None) -> Block:
        return Block(1, language, title, text, None, None)

    def test_another_output(self, place: Place) -> None:
        shown = "$ scanify check plain.py\nNo loop over layers in 2 files.\n"
        (place.folder / "plain.py").write_text("x = 1\n")
        assert place.do(self.block("console", shown)) == shown.replace("2 files", "1 file")

    def test_a_command_that_fails(self, place: Place) -> None:
        assert place.do(self.block("console", "$ scanify check --colour\n")).endswith("[exit code 2]\n")  # type: ignore[union-attr]
        assert place.do(self.block("console", "$ exit 3\n")) == "$ exit 3\n[exit code 3]\n"

    @pytest.mark.parametrize("line", ["scanify check --colour", "scanify rewrite missing.py", "git frobnicate"])
    def test_an_alternative_that_fails(self, place: Place, line: str) -> None:
        with pytest.raises(Differs):
            place.do(self.block("sh", f"{line}\n"))

    def test_alternatives_start_from_the_same_files(self, place: Place) -> None:
        before = (place.folder / "model.py").read_text()
        place.do(self.block("sh", "scanify rewrite model.py\n"))
        assert (place.folder / "model.py").read_text() == before
        place.do(self.block("console", "$ scanify rewrite model.py\n"))
        assert (place.folder / "model.py").read_text() != before

    @pytest.mark.parametrize(
        ("language", "text"),
        [
            ("python", "assert 1 == 2\n"),
            ("toml", "[tool.scanify]\nremote = 'full'\n"),
            ("json", "{,}\n"),
            ("cobol", "STOP RUN.\n"),
            ("text", "printed\n"),
        ],
    )
    def test_a_block_that_is_wrong(self, place: Place, language: str, text: str) -> None:
        with pytest.raises(Exception):  # noqa: B017  (each kind has its own)
            place.do(self.block(language, text))

    def test_code_that_no_fence_shows(self, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text("Text\n\n    scanify check\n\n- item\n\n    its second part\n\n```sh\n    x\n```\n")
        assert unfenced(page) == [3]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a  1.5 s\n", "a 22.25 s\n", True),
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n...\nc\n", "a\nb\nd\n", False),
        ("outputs PROVED\n", "outputs TESTED\n", False),
        ("python 3.13.0, jax 0.12.0.1\n", "python 3.11.7, jax 0.12.1\n", True),
        ("a\n", "a\nb\n", False),
    ],
)
def test_agree(shown: str, printed: str, same: bool) -> None:
    assert agree(shown, printed) == same
