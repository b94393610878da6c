"""Plans for loops that the source leaves open, next to plans that it does not."""

from scanify.pipeline import Project, rewrite_sources
from tests.command import BLOCK

NESTED = (
    BLOCK.partition("class Model")[0]
    + """\
class Model(eqx.Module):
    stages: list[list[Block]]

    def __init__(self, widths, depth, *, key):
        self.stages = [[Block(w, key=k) for k in jax.random.split(key, depth)] for w in widths]

    def __call__(self, xs):
        out = []
        for stage, x in zip(self.stages, xs):
            for block in stage:
                x = block(x)
            out.append(x)
        return out
"""
)


def test_an_open_loop_around_a_planned_one_stays_refused(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(NESTED)
    outcome = rewrite_sources(Project.load([file]), accept=lambda plan: True, undecided=lambda place: True)
    outer, inner = (NESTED.splitlines().index(f"        {line}") + 1 for line in _LOOPS)
    assert [plan.place.span.line for plan in outcome.applied] == [inner]
    (refused,) = outcome.refused
    assert refused.place.span.line == outer
    assert refused.undecided is not None


_LOOPS = "for stage, x in zip(self.stages, xs):", "    for block in stage:"
