"""The form of haliax's target with `in_axes`, and which releases get it."""

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from scanify.emit.targets import releases
from scanify.emit.targets.arrays import HALIAX, LEVANTER
from scanify.emit.targets.releases import STACKED, form_of, knows_haliax
from scanify.errors import ScanifyError
from scanify.pipeline import Project
from scanify.pipeline import form_of as form_of_project
from tests.emit.targets.models import ONE_CALL, PLAIN, WRITTEN_OUT, computed, model, reason, rewritten, same

RELEASES = {
    "haliax==1.4.dev453": STACKED,
    "marin-haliax==0.2.20.dev202606180959": HALIAX,
    "marin-haliax == 0.2.224": HALIAX,
    "marin-haliax==0.2.225": STACKED,
    "marin-levanter==0.2.224": HALIAX,
    "marin-levanter==0.2.225": LEVANTER,
    "marin-levanter==1.0": LEVANTER,
}


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_says_what_loops_become(release: str) -> None:
    assert form_of("haliax", release, own=False) == RELEASES[release]
    assert form_of("haliax", release, own=True) == RELEASES[release]


@pytest.mark.parametrize(
    ("target", "release", "said"),
    [
        ("lax", "marin-haliax==0.2.20", "a target version is for the target haliax, got marin-haliax==0.2.20 for lax"),
        ("haliax", "marin-haliax>=0.2.20", "expected a release of marin-levanter, marin-haliax, haliax"),
        ("haliax", "flax==0.12.8", "as in marin-haliax==0.2.224, got flax==0.12.8"),
        ("haliax", "haliax==newest", "got haliax==newest"),
        ("haliax", "haliax==1.3", "haliax 1.3 has no `Stacked.fold_via`"),
    ],
)
def test_other_releases_are_told(target: str, release: str, said: str) -> None:
    with pytest.raises(ScanifyError) as raised:
        form_of(target, release, own=False)
    assert said in str(raised.value)


INSTALLED = [
    ({}, STACKED),
    ({"haliax": "1.4.dev453"}, STACKED),
    ({"marin-haliax": "0.2.224.dev40027069267"}, HALIAX),
    ({"marin-haliax": "0.2.227.dev40316220070"}, STACKED),
    ({"marin-haliax": "0.2.227.dev40316220070", "marin-levanter": "0.2.227.dev40316220070"}, LEVANTER),
]


@pytest.mark.parametrize(("installed", "form"), INSTALLED)
def test_without_one_what_is_installed_says_it(
    installed: dict[str, str], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name not in installed:
            raise PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(releases, "version", version)
    assert form_of("haliax", None, own=False) == form
    assert form_of("haliax", None, own=True) == STACKED
    assert form_of("lax", None, own=False) == "lax"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("import haliax as hax\n", True),
        ("def f():\n    from haliax.nn import Linear\n", True),
        ("from haliax.nn import ArrayStacked, Linear\n", True),
        ("from haliax import ScanCheckpointPolicy\nfrom haliax.nn import ArrayStacked\n", False),
        ("import haliaxes  # import haliax\n", False),
    ],
)
def test_code_that_knows_haliax_may_have_named_axes(text: str, own: bool, tmp_path: Path) -> None:
    assert knows_haliax(text) is own


@pytest.mark.parametrize("place", ["model.py", "other.py"])
def test_one_file_of_a_project_that_knows_haliax_is_enough(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "version", {"marin-haliax": "0.2.20", "haliax": "1", "marin-levanter": "0"}.get)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "model.py").write_text(PLAIN)
    (tmp_path / "other.py").touch()
    assert form_of_project(Project.load([tmp_path / "model.py"]).every, "haliax", None) == HALIAX
    (tmp_path / place).write_text(f"import haliax as hax\n{PLAIN}")
    assert form_of_project(Project.load([tmp_path / "model.py"]).every, "haliax", None) == STACKED


IMPORTS = {
    HALIAX: ["from haliax import ScanCheckpointPolicy", "from haliax.nn import ArrayStacked"],
    LEVANTER: [
        "from levanter.layers.scan_checkpoint import ScanCheckpointPolicy",
        "from levanter.layers.stacked import ArrayStacked",
    ],
}
CALLS = {
    "one call": (
        ONE_CALL,
        "x = self.blocks.fold_via(Block.__call__, in_axes=((None,), {'key': 0}))(x, shift, key=keys)",
    ),
    "a fold": (PLAIN, "x = self.blocks.fold(x)"),
    "two calls": (
        ONE_CALL.replace("x = block(x, shift, key=k)", "x = block(block(x), shift, key=k)"),
        "x = self.blocks.fold_via(apply_block, in_axes=(0,))(x, keys)",
    ),
    "not shown to be an array": (
        ONE_CALL.replace("keys = jax", "keys = None if key is None else jax"),
        "x = self.blocks.fold_via(apply_block, in_axes=(0,))(x, jax.numpy.arange(self.blocks.num_layers))",
    ),
}


@pytest.mark.parametrize("target", [HALIAX, LEVANTER])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_written(name: str, target: str, tmp_path: Path) -> None:
    text, call = CALLS[name]
    after, outcome = rewritten(text, tmp_path, target, remat="nested")
    assert outcome.applied
    flat = "".join(after.split()).replace('"', "'").replace(",)", ")")
    assert "".join(call.split()).replace(",)", ")") in flat
    assert all(line in after.splitlines() for line in IMPORTS[target])
    assert "self.blocks=array_stacked([Block(width,key=k)forkinjax.random.split(key,depth)],'nested')" in flat
    again, outcome = rewritten(after, tmp_path, target)
    assert (again, outcome.applied) == (after, ())


KEYS_IN_A_LIST = model("""
def __call__(self, x, keys):
    return [block(x, key=k) for block, k in zip(self.blocks, keys)]
""")


def test_an_expression_over_what_may_be_a_list_stays(tmp_path: Path) -> None:
    after, outcome = rewritten(KEYS_IN_A_LIST, tmp_path, HALIAX)
    assert after == KEYS_IN_A_LIST
    assert reason(outcome) == f"{HALIAX} takes arrays, and `keys` is not shown to be one, and this is an expression"


@pytest.mark.parametrize("target", WRITTEN_OUT)
def test_one_call_computes_what_the_loop_does(target: str, tmp_path: Path) -> None:
    import jax

    after, _ = rewritten(ONE_CALL, tmp_path, target)
    given = (0.3, jax.random.key(1))
    same(computed(ONE_CALL, given, {}), computed(after, given, {}))
