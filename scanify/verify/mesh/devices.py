"""Virtual devices: one process that simulates all devices of a mesh."""

import os

from scanify.verify.mesh.axes import Axes, device_count

_FLAG = "--xla_force_host_platform_device_count"


def virtual_devices(axes: Axes) -> None:
    """Make jax see that many devices in this process, on the CPU; call it before jax has looked for devices."""
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if not flag.startswith(f"{_FLAG}=")]
    os.environ["XLA_FLAGS"] = " ".join([*flags, f"{_FLAG}={device_count(axes)}"])
    os.environ["JAX_PLATFORMS"] = "cpu"
