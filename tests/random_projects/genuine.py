"""Whether a trap is one: set into the simplest project, a rewrite without a look must change what is computed."""

from tests.random_projects.compare import differences
from tests.random_projects.compose import plain_project
from tests.random_projects.naive import naive
from tests.random_projects.run import run
from tests.random_projects.trap import Expect, Trap, Variant


def fault(trap: Trap, variant: Variant) -> str | None:
    """What is wrong with a variant of a trap: it does not run, or a naive rewrite does not do what it must."""
    project = plain_project(trap, variant)
    if project is None:
        return None
    how = "eager" if project.eager else "traced"
    before = run(project.files, how)
    if before.error is not None:
        return f"it does not run: {before.trace}"
    rewritten = naive(project)
    try:
        compile(rewritten["main.py"], "main.py", "exec")
    except SyntaxError:  # a body that no function can be, such as one with `break`
        return None
    after = run(rewritten, how)
    differs = after.error or "; ".join(differences(before, after))
    if trap.expect in (Expect.HELD, Expect.LIST) and not differs:
        return "a naive rewrite computes the same"
    if trap.expect is Expect.KEPT and differs:
        return f"a naive rewrite differs: {differs}"
    return None
