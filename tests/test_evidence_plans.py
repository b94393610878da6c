"""Plans for loops that the source leaves open, next to plans that it does not."""

from scanify.pipeline import Project, rewrite_sources
from tests.command import BLOCK
from tests.test_cli_rewrite_recorded import STAGES

NESTED = (
    BLOCK.partition("class Model")[0]
    + """\
class Model(eqx.Module):
    layers: list[Block]
    mixers: list

    def __init__(self, mixers, depth, *, key):
        self.mixers = list(mixers)
        self.layers = [Block(4, key=k) for k in jax.random.split(key, depth)]

    def __call__(self, x):
        for mixer in self.mixers:
            x = mixer(x)
            for block in self.layers:
                x = block(x)
        return x
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


def test_an_open_loop_in_another_is_planned_if_that_is_not_accepted(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(STAGES)
    project = Project.load([file])
    lines = [
        [plan.place.span.line for plan in rewrite_sources(project, accept=accept, undecided=lambda place: True).applied]
        for accept in (lambda plan: True, lambda plan: plan.container != "self.stages")
    ]
    assert lines == [[13], [14]]


_LOOPS = "for mixer in self.mixers:", "    for block in self.layers:"
