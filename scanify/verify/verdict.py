"""The results of verification: frozen data, without jax, so that the command line and the reports can read it."""

from dataclasses import dataclass
from enum import Enum

from scanify.verify.measure.pace import Pace
from scanify.verify.mesh.on_mesh import OnMesh
from scanify.verify.profile.startup import Startup
from scanify.verify.training.losses import Losses


class Status(Enum):
    """How sure we are that two functions are the same.

    PROVED: equal for all inputs of these shapes and dtypes. TESTED: agrees numerically, not proved. FAILED: differs.
    NOT_RUN: nothing was shown, for the accompanying reason.
    """

    PROVED = "PROVED"
    TESTED = "TESTED"
    FAILED = "FAILED"
    NOT_RUN = "NOT RUN"


@dataclass(frozen=True)
class Operation:
    """One operation of a traced program in readable form: `dot_general (8, 64) float32` at `model.py:41`.

    `line` is None if no line of the user's source is known; `layer` the index of the layer it belongs to, if any.
    """

    text: str
    file: str | None = None
    line: int | None = None
    layer: int | None = None


@dataclass(frozen=True)
class Difference:
    """The first operation that differs, in both versions. `what` describes how they differ."""

    what: str
    before: Operation | None = None
    after: Operation | None = None


@dataclass(frozen=True)
class Verdict:
    """A status, its reason in words ("" if PROVED needs none), and where the two versions differ."""

    status: Status
    reason: str = ""
    difference: Difference | None = None

    @property
    def good(self) -> bool:
        return self.status in (Status.PROVED, Status.TESTED)


@dataclass(frozen=True)
class Measurement:
    """Figures of one version under one policy (`policy` is None for the loop). Bytes and seconds; None: not measured.

    `saved_bytes`: residuals kept between forward and backward, read from the jaxpr (the same on every backend).
    `temp_bytes`: temporaries of the compiled gradient, from `memory_analysis`, on `backend`; `argument_bytes` are its
    arguments there (parameters, inputs and cotangents), `output_bytes` its outputs (those of the call, and gradients),
    and `host_bytes` its temporaries in host memory. `flops` and `moved_bytes`: the operations of the gradient, and its
    copies between device and host memory, read from the jaxpr. `step_seconds`: one run of the compiled gradient, the
    median of several; `call_seconds`: one of the call alone, as in inference.
    """

    saved_bytes: int | None = None
    stablehlo_lines: int | None = None
    trace_seconds: float | None = None
    lower_seconds: float | None = None
    compile_seconds: float | None = None
    temp_bytes: int | None = None
    backend: str | None = None
    argument_bytes: int | None = None
    output_bytes: int | None = None
    host_bytes: int | None = None
    flops: int | None = None
    moved_bytes: int | None = None
    step_seconds: float | None = None
    call_seconds: float | None = None

    @property
    def needed_bytes(self) -> int | None:
        """Return the device memory of the compiled gradient: arguments, outputs and temporaries. None: not measured."""
        parts = (self.argument_bytes, self.output_bytes, self.temp_bytes)
        return None if None in parts else sum(part for part in parts if part is not None)

    @property
    def build_seconds(self) -> float | None:
        """Return the seconds to trace, lower and compile. None: not measured."""
        parts = (self.trace_seconds, self.lower_seconds, self.compile_seconds)
        return None if None in parts else sum(part for part in parts if part is not None)


@dataclass(frozen=True)
class PolicyResult:
    """The verdicts of the rewritten version under one remat policy, by its name on the command line.

    `findings` are errors that make the verification fail; `notes` are remarks that do not. `unsupported`: jax's message
    if it does not support this under the policy, which was not requested; then nothing is shown for this policy,
    without a failure. `changed` says whether the policy keeps other residuals than a scan without remat; None: not
    known.
    """

    policy: str
    outputs: Verdict
    gradients: Verdict
    measured: Measurement = Measurement()
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    changed: bool | None = None
    unsupported: str = ""

    @property
    def good(self) -> bool:
        return bool(self.unsupported) or (self.outputs.good and self.gradients.good and not self.findings)


@dataclass(frozen=True)
class SeenLayers:
    """The layers of a list that a case has built: the list as named by the loop, their number, and the number of
    `kinds`.

    Layers of one kind are equal up to the values of arrays. `text` describes them: "4 layers: 3 x Block + Head".
    """

    name: str
    count: int
    kinds: int
    text: str


@dataclass(frozen=True)
class LoopRun:
    """A loop of the original that the rewritten version lacks: its place, its head, and its iterations in a case.

    `iterations` is None if the case does not reach the loop, and then `why` may give the reason. For a loop that runs
    several times it is the longest run. `layers` are those of the first run; None if the loop names no list of Equinox
    modules.
    """

    file: str
    line: int
    head: str
    iterations: int | None = None
    why: str = ""
    layers: SeenLayers | None = None

    @property
    def place(self) -> tuple[str, int, str]:
        """Return a key that distinguishes it from other loops."""
        return self.file, self.line, self.head


@dataclass(frozen=True)
class CaseResult:
    """One case: whether the initial parameters are the same, and each policy's verdicts.

    A case that gives sizes to sweep has one result for each; `variant` holds the arguments of the call, by name and in
    words. `loops` are the loops that the rewritten version lacks, and `layers` the sum of their iterations; if none of
    them runs, the number of layers that it scans over and the original does not (None: not known). `depth` says why the
    case is no evidence for a loop (`scanify.verify.depth`), None if it covers all that it reaches.

    Once for all policies, because remat does not matter to them: `tangents` compares forward derivatives (jvp),
    `batched` the outputs under vmap, `keys` says whether random keys are used more than once, `updates` compares the
    parameters after one step with the case's optimiser. Each is None if it does not apply; `notes` then say why.
    `training` compares the `losses` of both versions in training (`scanify.verify.training.side_by_side`), if that was
    requested; it is never PROVED.

    `error` is set, and nothing else, if the case could not be run (it raised, printed nonsense, took too long): a
    message for the user. `output` is the output of the user's code. `startup` are its startup programs
    (`scanify.verify.profile.profiled`); `on_mesh` the costs of both versions on a mesh of devices
    (`scanify.verify.mesh.partitioned`), if requested; `pace` the run time against the loop, if requested. `proviso`
    describes a restriction of the verdicts: "for the same parameters" if `init` of Flax Linen draws others, since
    layers have other names. `cached`: the result comes from an earlier run on the same inputs.
    """

    case: str
    parameters: Verdict | None = None
    policies: tuple[PolicyResult, ...] = ()
    original: Measurement = Measurement()
    findings: tuple[str, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    error: str | None = None
    output: str = ""
    variant: tuple[tuple[str, str], ...] = ()
    layers: int | None = None
    tangents: Verdict | None = None
    batched: Verdict | None = None
    keys: Verdict | None = None
    notes: tuple[str, ...] = ()
    cached: bool = False
    startup: Startup | None = None
    updates: Verdict | None = None
    training: Verdict | None = None
    losses: Losses | None = None
    on_mesh: OnMesh | None = None
    pace: Pace | None = None
    proviso: str = ""
    loops: tuple[LoopRun, ...] = ()
    depth: Verdict | None = None

    @property
    def name(self) -> str:
        """Return the case, with the arguments of the variant: `cases.py:gpt (batch=2)`."""
        given = ", ".join(f"{name}={value}" for name, value in self.variant)
        return f"{self.case} ({given})" if given else self.case

    @property
    def once(self) -> tuple[Verdict | None, ...]:
        """Return the verdicts that do not depend on a policy, except on the initial parameters."""
        return self.depth, self.tangents, self.batched, self.keys, self.updates, self.training

    @property
    def good(self) -> bool:
        """Return whether every verdict is PROVED or TESTED and nothing was found wrong."""
        return (
            self.error is None
            and not self.findings
            and self.parameters is not None
            and self.parameters.good
            and all(once is None or once.good for once in self.once)
            and not all(policy.unsupported for policy in self.policies)
            and all(policy.good for policy in self.policies)
        )


@dataclass(frozen=True)
class Advice:
    """A reason not to scan in a case, as a complete text. It changes no verdict.

    `kind`: what scanning does not improve, the time to build the program ("build") or to run a step ("step"); "failed"
    if the case could not be timed.
    """

    case: str
    kind: str
    text: str


@dataclass(frozen=True)
class Verification:
    """All cases of one run, the versions they ran on, and the verified change, as a unified diff.

    `advice` is () if no measurement speaks against scanning, and None if it was not requested. `not_shown` says which
    other code may need a list that was built stacked, and `held_back` which loops were therefore not rewritten; both
    are "" or words that end the last line of a report.
    """

    cases: tuple[CaseResult, ...]
    versions: tuple[tuple[str, str], ...] = ()
    diff: str = ""
    advice: tuple[Advice, ...] | None = None
    not_shown: str = ""
    held_back: str = ""

    @property
    def good(self) -> bool:
        return bool(self.cases) and all(case.good for case in self.cases)
