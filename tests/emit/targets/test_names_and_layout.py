"""What a target writes into a file has names and a layout that fit the file."""

from pathlib import Path

import pytest

from tests.emit.targets.models import KEYS, PLAIN, computed, rewritten, same


def test_names_of_the_file_are_kept_out_of_the_way(tmp_path: Path) -> None:
    text = PLAIN.replace("import jax\n", "import jax as j\n")
    text = text.replace(" jax.random", " j.random").replace(": jax.Array", ": j.Array")
    text = text.replace("import equinox as eqx\n", "import equinox as eqx\nfrom equinox import partition as static\n")
    text = text.replace("class Block", "def stack_layers(a):\n    return a\n\n\nclass Block", 1).replace(
        "        for block", "        layers = static\n        layer = layers\n        for block"
    )
    after, _ = rewritten(text, tmp_path, "lax", stack="call")
    assert "def stack_layers_2(" in after
    assert "import jax\n" not in after
    same(computed(text, (), {}), computed(after, (), {}))


@pytest.mark.parametrize(("old", "new"), [("    ", "  "), ("    ", "\t"), ("\n", "\r\n")])
def test_the_layout_is_that_of_the_file(old: str, new: str, tmp_path: Path) -> None:
    text = KEYS.replace(old, new)
    after, outcome = rewritten(text, tmp_path, "lax", remat="nested")
    assert len(outcome.applied) == 1
    assert after.replace(new, "").count(old) == 0
    same(computed(text, (), {}), computed(after, (), {}))


def test_what_is_missing_is_imported(tmp_path: Path) -> None:
    layer = PLAIN.replace("import equinox as eqx\nimport jax\n", "import equinox\nimport jax.numpy\n")
    layer = layer.replace("eqx.", "equinox.")
    after, _ = rewritten(layer, tmp_path, "lax", stack="call")
    assert "import equinox as eqx" not in after
    assert "equinox.partition(" in after
    same(computed(layer, (), {}), computed(after, (), {}))
