"""The pytest hooks. Everything else is imported only with `--scanify`."""

import os
from pathlib import Path

import pytest

from scanify.configuration.config import REMATS, SYNONYMS
from scanify.pytest_plugin import cases_in
from scanify.verify.cases.command import RECORDING

_CONFIGURATION = "pyproject.toml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("scanify", "scanify: loops over layers and the scans that take their place")
    group.addoption(
        "--scanify",
        action="store_true",
        help="Run the cases of [tool.scanify.cases]: each model against what scanify rewrites it to.",
    )
    group.addoption(
        "--scanify-against",
        metavar="REVISION",
        help="With --scanify: compare the working tree with this git revision instead.",
    )
    group.addoption(
        "--scanify-remat",
        action="append",
        default=[],
        metavar="POLICY",
        help="With --scanify: a remat policy to verify under; may be given several times (default: every one).",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Raise UsageError if the options are inconsistent."""
    against, remats = config.getoption("--scanify-against"), config.getoption("--scanify-remat")
    if not config.getoption("--scanify"):
        if against or remats:
            raise pytest.UsageError("--scanify-against and --scanify-remat go with --scanify")
        return
    known = (*REMATS, *SYNONYMS)
    for each in remats:
        if each.lower() not in known:
            raise pytest.UsageError(f"--scanify-remat: expected one of {', '.join(known)}, got {each!r}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Collect the configuration of the project like a test file, unless parts of it are named."""
    config = session.config
    file = config.rootpath / _CONFIGURATION
    if not _has_cases(config) or not file.is_file():
        return
    named = (Path(arg.partition("::")[0]).name for arg in config.args)
    if _CONFIGURATION not in named:
        config.args.append(str(file))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the cases of a pyproject.toml."""
    if file_path.name != _CONFIGURATION or not _has_cases(parent.config):
        return None
    return cases_in(parent, file_path)


def _has_cases(config: pytest.Config) -> bool:
    """True with `--scanify`, unless this run is itself the command of a case."""
    if not config.getoption("--scanify"):
        return False
    return RECORDING not in os.environ
