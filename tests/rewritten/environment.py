"""An environment for one package, on top of the running one: what is installed here need not be installed again."""

import subprocess
import sysconfig
import venv
from pathlib import Path

from tests.rewritten.packages import Package

STAMP = "installed"


def python_for(package: Package, out: Path) -> Path:
    """The interpreter of an environment that has what `package` needs. Raises RuntimeError with pip's words."""
    folder = out / "environment"
    python = folder / "bin" / "python"
    stamp = folder / STAMP
    wanted = "\n".join((package.requirement, *package.needs))
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    venv.create(folder, clear=True, with_pip=False, symlinks=True)
    own = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    Path(own, "below.pth").write_text(sysconfig.get_path("purelib") + "\n")
    if package.needs:
        _pip(python, *package.needs)
    # The package too: some ask for their own version. Its files are found in the folders that are compared, as these
    # stand first on the path.
    _pip(python, "--no-deps", "--ignore-requires-python", package.requirement)
    stamp.write_text(wanted)
    return python


def _pip(python: Path, *wanted: str) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise RuntimeError(f"pip could not install {' '.join(wanted)}: {said[-1]}")
