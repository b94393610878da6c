"""Loops of several statements over independent layers, as a function that is mapped: text for text, and computing the
same."""

import re
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from scanify.pipeline import Project, rewrite_sources
from tests.emit.test_maps import HEAD, call_of, outputs, rewritten, same

# name: (the body of the call, what becomes of it)
FORMS: dict[str, tuple[str, str]] = {
    "a list that is filled": (
        """
        outs = []
        for head in self.heads:  # each
            out = head(x)
            out = out * 2 + out
            outs.append(out)  # kept
        return outs
        """,
        """
        def apply_head(head):  # each
            out = head(x)
            out = out * 2 + out
            return out  # kept

        outs = self.heads.map_via(apply_head)()
        return outs
        """,
    ),
    "a list that holds something before": (
        """
        outs = [x]
        for head in self.heads:
            out = head(x)
            outs.append(out + out)
        return outs
        """,
        """
        outs = [x]

        def apply_head(head):
            out = head(x)
            return out + out

        collected = self.heads.map_via(apply_head)()
        outs.extend(collected)
        return outs
        """,
    ),
    "a list that is added to another": (
        """
        outs = []
        for head in self.heads:
            out = head(x)
            outs += [out + out]
        return outs
        """,
        """
        def apply_head(head):
            out = head(x)
            return out + out

        outs = self.heads.map_via(apply_head)()
        return outs
        """,
    ),
    "two lists": (
        """
        outs, sums = [], []
        for head, scale in zip(self.heads, scales):
            out = head(x * scale)
            outs.append(out)
            sums.append(out.sum() * scale)
        return outs, sums
        """,
        """
        outs, sums = [], []

        def apply_head(head, scale):
            out = head(x * scale)
            return (out, out.sum() * scale)

        collected = self.heads.map_via(apply_head, in_axes=(0,))(scales)
        for out_2, sum_2 in collected:
            outs.append(out_2)
            sums.append(sum_2)
        return outs, sums
        """,
    ),
    "an element over several lines, with a comment": (
        """
        outs = []
        for i, head in enumerate(self.heads):
            out = head(x) * i
            outs.append(
                out
                + out  # twice
            )
        return outs
        """,
        """
        outs = []

        def apply_head(head, i):
            layer_outs = []
            out = head(x) * i
            layer_outs.append(
                out
                + out  # twice
            )
            return layer_outs

        collected = self.heads.map_via(apply_head, in_axes=(0,))(range(len(self.heads)))
        for ys in collected:
            outs.extend(ys)
        return outs
        """,
    ),
    "the name of the list is another thing behind the loop": (
        """
        outs = []
        for head in self.heads:
            out = head(x)
            outs.append({"out": out, "most": out.max()})
        outs = outs[::-1]
        return outs
        """,
        """
        def apply_head(head):
            out = head(x)
            return {"out": out, "most": out.max()}

        outs = self.heads.map_via(apply_head)()
        outs = outs[::-1]
        return outs
        """,
    ),
    "a key is carried": (  # then it is no map
        """
        outs, key = [], keys[0]
        for head in self.heads:
            key, own = jr.split(key)
            outs.append(head(x, key=own))
        return outs
        """,
        """
        outs, key = [], keys[0]

        def apply_head(head, key):
            key, own = jr.split(key)
            return key, head(x, key=own)

        key, collected = self.heads.collect_via(apply_head)(key)
        outs.extend(collected)
        return outs
        """,
    ),
}


@pytest.mark.parametrize("stack", [None, "call"])
@pytest.mark.parametrize("name", FORMS)
def test_a_loop_becomes_a_map_that_computes_the_same(name: str, stack: Any, tmp_path: Path) -> None:
    before, after = FORMS[name]
    text = HEAD + indent(dedent(before).strip("\n") + "\n", " " * 8)
    new = rewritten(text, tmp_path, stack)
    if stack is None:
        assert call_of(new) == indent(dedent(after).strip("\n") + "\n", " " * 8)
    else:
        assert re.search(r"(ArrayStacked|BlockSeq)\.of\(self\.heads\)\.(map|collect)_via", call_of(new))
    same(outputs(new), outputs(text))


def test_layers_that_differ_are_mapped_one_by_one(tmp_path: Path) -> None:
    body = "        outs = []\n        for head in self.heads:\n            out = head(x)\n            outs.append(out + out)\n"
    text = HEAD + body + "        return outs\n"
    text = text.replace("    weight: jax.Array\n", "    weight: jax.Array\n    rate: int = eqx.field(static=True)\n")
    text = text.replace(
        "def __init__(self, width, *, key):\n        self.weight",
        "def __init__(self, width, rate=1, *, key):\n        self.rate = rate\n        self.weight",
    )
    text = text.replace("Head(width, key=k) for k in", "Head(width, i % 2, key=k) for i, k in enumerate(").replace(
        "jr.split(key, depth)]", "jr.split(key, depth))]"
    )
    text = text.replace("@ x) * scale", "@ x) * scale + self.rate")
    new = rewritten(text, tmp_path)
    assert "BlockSeq.of(" in new and "outs = self.heads.map_via(apply_head)()" in new
    same(outputs(new), outputs(text))


@pytest.mark.parametrize("target", ["lax", "haliax"])
def test_other_targets_leave_it_alone(target: Any, tmp_path: Path) -> None:
    before, _ = FORMS["a list that is filled"]
    (tmp_path / "model.py").write_text(HEAD + indent(dedent(before).strip("\n") + "\n", " " * 8))
    outcome = rewrite_sources(Project.load([tmp_path]), target=target)
    assert not outcome.changes
    (left,) = outcome.refused
    assert left.rule == "SCN217" and "these are independent" in left.reason
