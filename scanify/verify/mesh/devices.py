"""Virtual devices: one process that stands for as many as a mesh has."""

import os

from scanify.verify.mesh.axes import Axes, device_count

_FLAG = "--xla_force_host_platform_device_count"


def virtual_devices(axes: Axes) -> None:
    """Have jax see that many devices in this process, on the CPU; to be called before it has looked for any."""
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if not flag.startswith(f"{_FLAG}=")]
    os.environ["XLA_FLAGS"] = " ".join([*flags, f"{_FLAG}={device_count(axes)}"])
    os.environ["JAX_PLATFORMS"] = "cpu"
