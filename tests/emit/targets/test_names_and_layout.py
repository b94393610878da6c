"""What a target writes into a file has names and a layout that fit the file."""

import json
from pathlib import Path

import pytest

from scanify.pipeline import Project, rewrite_sources
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


@pytest.mark.parametrize("width", [72, 88, 120])
def test_a_function_that_the_file_has_already_is_called_again(width: int, tmp_path: Path) -> None:
    """Also where it has another layout: that of a file with wider or narrower lines."""
    text = PLAIN.replace("class Block", f"WIDE = {'1 + ' * (width // 4 - 3)}1\n\n\nclass Block", 1)
    after, _ = rewritten(text, tmp_path, "lax", stack="call")
    second = (
        after
        + "\n    def other(self, x):\n        for block in self.blocks:\n            x = block(x)\n        return x\n"
    )
    again, outcome = rewritten(second, tmp_path, "lax", stack="call")
    assert len(outcome.applied) == 1
    assert again.count("def stack_layers") == 1


def test_in_a_notebook_the_functions_stand_in_the_cell_that_calls_them(tmp_path: Path) -> None:
    cells = PLAIN.replace("class Block", "# %%\nclass Block").replace("class Model", "# %%\n# the model\nclass Model")
    sources = [
        {"cell_type": "code", "metadata": {}, "source": cell, "outputs": [], "execution_count": None}
        for cell in cells.split("# %%\n")
    ]
    path = tmp_path / "model.ipynb"
    path.write_text(json.dumps({"cells": sources, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    outcome = rewrite_sources(Project.load([path]), target="lax", accept=lambda plan: True)
    ((_, after),) = outcome.changes.values()
    first, block, last = ("".join(cell["source"]) for cell in json.loads(after)["cells"])
    assert "def stack_layers(" in last and "# the model\nclass Model" in last
    assert "def stack_layers(" not in first + block
    text = "\n\n\n".join([first, block, last])
    same(computed(PLAIN, (), {}), computed(text, (), {}))
