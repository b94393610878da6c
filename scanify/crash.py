"""Reports of internal errors, complete enough to be filed unchanged."""

import platform
import shlex
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version

import scanify


def bug_report(error: BaseException, arguments: list[str]) -> str:
    """Return a Markdown report with the command, the versions and the traceback of `error`."""
    trace = "".join(traceback.format_exception(error)).rstrip()
    return "\n".join(
        [
            "scanify: internal error; no file was changed. This is a defect of scanify: please report it with",
            "the text below and, if you can, the file that it was given.",
            "",
            f"**Error**: {type(error).__name__}: {error}",
            f"**Command**: `scanify {shlex.join(arguments)}`",
            f"**Versions**: scanify {scanify.__version__}, Python {platform.python_version()} ({sys.platform}), "
            + ", ".join(f"{name} {_version(name)}" for name in ("libcst", "click", "jax", "equinox")),
            "",
            "```text",
            trace,
            "```",
        ]
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
