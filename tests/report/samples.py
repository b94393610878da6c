"""Verifications to render: proved, failed, crashed, timed out, swept over variants, and with hostile texts in every field."""

from dataclasses import fields, replace
from typing import Any

from scanify.verify.mesh.on_mesh import Collective, OnMesh, Partitioned
from scanify.verify.training.losses import Losses, Step
from scanify.verify.verdict import (
    Advice,
    CaseResult,
    Difference,
    Measurement,
    Operation,
    PolicyResult,
    Status,
    Verdict,
    Verification,
)

VERSIONS = (("python", "3.11.7"), ("jax", "0.10.2"), ("equinox", "0.13.8"), ("scanify", "0.1.0"))
POLICIES = ("none", "full", "nested", "dots", "save_all", "offload")
PROVED = Verdict(Status.PROVED)
TESTED = Verdict(
    Status.TESTED,
    "the primitive `foo_call` is not understood; values, vjp and jvp agree to 1.1e-15 relative in float64",
)
NOT_RUN = Verdict(Status.NOT_RUN, "the weights are abstract")
DIFFERENCE = Difference(
    "the loop multiplies by 0.3 and the scan by 0.0",
    Operation("mul (8, 64) float32", "gpt/model.py", 41, 3),
    Operation("mul (8, 64) float32", "gpt/model.py", 146, 3),
)
FAILED = Verdict(Status.FAILED, "values differ by 0.3 relative", DIFFERENCE)

DIFF = """\
--- gpt/model.py
+++ gpt/model.py
@@ -1,7 +1,8 @@
 import equinox as eqx
 import jax
+from scanify.nn import ArrayStacked


 class GPT(eqx.Module):
-    blocks: list[Block]
+    blocks: ArrayStacked[Block]

@@ -40,5 +41,4 @@
     def __call__(self, tokens, *, key=None):
         x = self.embed(tokens)
-        for block, k in zip(self.blocks, jax.random.split(key, len(self.blocks))):
-            x = block(x, key=k)
+        x = self.blocks.fold_via(lambda block, x, k: block(x, key=k))(x, jax.random.split(key, len(self.blocks)))
         return self.head(self.norm(x))
"""


def measurement(layers: int, policy: str | None = None) -> Measurement:
    """Figures as they are seen: the loop's grow with its layers, a scan's program does not."""
    at = POLICIES.index(policy) if policy is not None else 0
    if policy is None:
        saved, program, seconds = layers * 80_000_000, 897 * layers, 0.9 + 5.2 * layers
    else:
        saved = layers * (150_000_000, 4_200_000, 3_100_000, 40_000_000, 152_000_000, 4_200_000)[at]
        program, seconds = 515 + 22 * at, 0.58 + 0.11 * at
    return Measurement(
        saved, program, 0.04 * seconds, 0.03 * seconds, seconds, saved + 12_000_000, "cpu", 48_000_000, 48_000_100, 0,
        layers * 7_077_888, 0, 0.0031 * layers,
    )  # fmt: skip


def gpt(layers: int = 12, **changes: Any) -> CaseResult:
    """A case as it is when all is well."""
    policies = tuple(
        PolicyResult(name, PROVED, PROVED, measurement(layers, name), changed=name not in ("none", "save_all"))
        for name in POLICIES
    )
    return replace(
        CaseResult(
            "cases.py:gpt",
            PROVED,
            policies,
            measurement(layers),
            seconds=(("import jax", 0.81), ("trace", 3.2), ("prove", 0.4), ("measure", 60.2), ("total", 66.1)),
            output="step 1\n",
            layers=layers,
            tangents=PROVED,
            batched=PROVED,
            keys=PROVED,
        ),
        **changes,
    )


def on_mesh() -> OnMesh:
    """What a loop and a scan that gathers more take on eight devices."""
    reduced, gathered = Collective("all-reduce", 24, 98_304), Collective("all-gather", 12, 1_048_576)
    return OnMesh(
        (("data", 2), ("model", 4)),
        (
            Partitioned("constructor", "(loop)", 0, 1_000_000, 60_000),
            Partitioned("constructor", "(scan)", 0, 1_000_000, 40_000),
            Partitioned("call", "(loop)", 1_000_000, 4_000, 30_000, (reduced,)),
            Partitioned("call", "none", 1_000_000, 4_000, None, (gathered, reduced), unknown_turns=True),
        ),
        ("no gradient of none: ValueError: no rule",),
    )


def trained(count: int = 3) -> CaseResult:
    """A case that was trained, with losses that differ from the third step on."""
    steps = [
        Step(4.5 - at / 8, 4.5 - at / 8 + 1e-6 * (at > 1), at < 2, 0 if at < 2 else 2, 1e-6 * (at > 1))
        for at in range(count)
    ]
    how = Losses("SGD (rate 0.01)", "the output", 9, tuple(steps))
    return gpt(training=Verdict(Status.TESTED, "3 steps: at most 2 ulp apart"), losses=how)


def failed() -> CaseResult:
    """A case that is wrong in several ways."""
    case = gpt()
    policies = tuple(
        replace(policy, outputs=FAILED, gradients=Verdict(Status.FAILED, "vjp differs by 0.3 relative", DIFFERENCE))
        for policy in case.policies
    )
    noted = replace(
        policies[5],
        findings=("the rewritten source was to use remat 'offload' but does not: look for a `gradient_checkpointing`",),
        notes=("nothing is moved to the host on cpu",),
        changed=False,
    )
    return replace(
        case,
        case="cases.py:gpt_training",
        policies=(*policies[:5], noted),
        tangents=FAILED,
        batched=NOT_RUN,
        keys=Verdict(Status.FAILED, "the key at gpt/model.py:144 is used by every layer"),
        findings=("layer 3 gets no gradient",),
        notes=("the loop runs under `jax.jit` in the case",),
        output="loading tokens\nstep 1: loss 4.56\n",
    )


def crashed() -> CaseResult:
    error = (
        "cases.py:gpt_long failed with the rewritten model.py:\n  cases.py:6, in gpt_long\n"
        "    model.GPT(config, key=key)\nTypeError: scan body output must have the same type structure as the input"
    )
    return CaseResult("cases.py:gpt_long", error=error, output="building\n", seconds=(("total", 2.2),))


def timed_out() -> CaseResult:
    error = (
        "cases.py:huge was stopped: it ran longer than the time limit of 600 s. Make the model smaller, or raise the "
        "limit with --time-limit SECONDS"
    )
    return CaseResult("cases.py:huge", error=error, seconds=(("total", 600.2),), variant=(("batch", "4"),), layers=96)


def variants() -> tuple[CaseResult, ...]:
    """A sweep over layers and batch sizes; one kept from an earlier run, one tested."""
    cases = [
        gpt(layers, variant=(("depth", str(layers)), ("batch", str(batch))))
        for batch in (1, 8)
        for layers in (4, 12, 24, 48)
    ]
    cases[1] = replace(cases[1], cached=True)
    tested = tuple(replace(p, gradients=TESTED) if p.policy == "nested" else p for p in cases[2].policies)
    cases[2] = replace(cases[2], policies=tested, keys=None, notes=("the case takes no random keys",))
    return tuple(cases)


HOSTILE = (
    "<script>alert(1)</script> </td> | a \\| b | `c` ``` **d** _e_ [f](http://g) ![h](i) @jax #12 $x^2$ & &lt; ]]> "
    "\x00\x1b[31m\u202e\ud800\ufffe\x85 \r \" ' 模型 🦊 {j} ~~k~~ <!-- --> -- \n# l\n- m\n```\n</details>\n::before"
)


def advice() -> tuple[Advice, ...]:
    slow = "2 layers: a step of the loop takes 1 ms, one of the scan (none) 3 ms, 3.0 times as long"
    return (
        Advice("cases.py:gpt", "step", slow),
        Advice("cases.py:gpt", "build", "scanning saves no time here, and no memory"),
        Advice("cases.py:gpt (depth=1)", "failed", "could not be timed: cases.py:gpt was stopped"),
    )


def hostile() -> Verification:
    """Every text that a report shows is one that could break it."""
    operation = Operation(HOSTILE, HOSTILE, 7, 1)
    verdict = Verdict(Status.FAILED, HOSTILE, Difference(HOSTILE, operation, operation))
    policy = PolicyResult(
        HOSTILE, verdict, verdict, Measurement(1, 2, 3.0, 4.0, 5.0, 6, HOSTILE), (HOSTILE,), (HOSTILE,)
    )
    case = CaseResult(
        HOSTILE, verdict, (policy,), policy.measured, (HOSTILE,), ((HOSTILE, 1.0),), None, HOSTILE,
        ((HOSTILE, HOSTILE),), 3, verdict, verdict, verdict, (HOSTILE,),
    )  # fmt: skip
    error = CaseResult(HOSTILE, error=HOSTILE, output=HOSTILE)
    diff = f"--- {HOSTILE}\n+++ {HOSTILE}\n@@ -1 +1 @@\n-{HOSTILE}"
    return Verification((case, error), ((HOSTILE, HOSTILE),), diff, (Advice(HOSTILE, "step", HOSTILE),))


def verifications() -> dict[str, Verification]:
    """One of each kind, by name."""
    return {
        "good": Verification((gpt(),), VERSIONS, DIFF),
        "failed": Verification((gpt(), failed()), VERSIONS, DIFF),
        "crashed": Verification((crashed(), timed_out()), VERSIONS, DIFF),
        "variants": Verification((*variants(), timed_out()), VERSIONS, DIFF),
        "hostile": hostile(),
        "advised": Verification((gpt(2), gpt(1, variant=(("depth", "1"),))), VERSIONS, DIFF, advice()),
        "nothing to advise": Verification((gpt(),), VERSIONS, DIFF, ()),
        "on a mesh": Verification((gpt(on_mesh=on_mesh()),), VERSIONS, DIFF),
        "trained": Verification((trained(),), VERSIONS, DIFF),
        "empty": Verification(()),
    }


def strings(value: object) -> set[str]:
    """Every text in a verification."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, tuple):
        return set().union(*(strings(item) for item in value))
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return set().union(*(strings(getattr(value, field.name)) for field in fields(value)))
    return set()
