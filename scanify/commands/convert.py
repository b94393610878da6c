"""`scanify convert`: convert a checkpoint between a list of layers and a stack."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scanify.checkpoints import convert_leaves, convert_names
from scanify.checkpoints.names import Prefix
from scanify.commands.verifying.like import tree_like
from scanify.errors import Exit, ScanifyError
from scanify.report.sentences import plural
from scanify.report.terminal import tell
from scanify.verify.installed import require

if TYPE_CHECKING:
    from scanify.checkpoints.convert import Counts


@click.command("convert", short_help="Convert a checkpoint between lists of layers and stacks.")
@click.argument("old")
@click.argument("new")
@click.option(
    "--stack",
    "stack",
    multiple=True,
    metavar="PREFIX",
    help="Stack the layers under PREFIX: `layers.3.weight` and its like become `layers.weight`. PREFIX=OTHER gives the "
    "stack another name, `*PREFIX` takes it wherever it stands; `*layer_{}=*layers` is for layers with their number in "
    "their name, as Flax Linen has them. May be given several times.",
)
@click.option(
    "--unstack",
    "unstack",
    multiple=True,
    metavar="PREFIX",
    help="The way back: take the arrays under PREFIX apart along their first axis, as `*layers=*layer_{}`.",
)
@click.option(
    "--axis",
    type=click.IntRange(min=0),
    help="With --stack or --unstack: the axis of the stacked arrays along which the layers lie, 0 unless axes stand in "
    "front of it, as that of the members of an ensemble. It is needed unless all arrays of a layer are scalars.",
)
@click.option(
    "--nested",
    is_flag=True,
    help="With --stack or --unstack: stacks have two axes of layers, chunks and layers of a chunk, as `--target linen "
    "--remat nested` builds them.",
)
@click.option(
    "--like",
    metavar="FILE:FUNCTION",
    help="For files of equinox.tree_serialise_leaves, which hold no names: a function that returns what the file "
    "holds, with the rewritten model. It is run without weights. A case will do, with --model.",
)
@click.option("--model", metavar="FILE", help="The file of the model, where --like is a case, which takes its module.")
@click.option(
    "--to",
    type=click.Choice(("stack", "list")),
    help="With --like: what the new file is to be. Without it: a stack.",
)
@click.option("--force", is_flag=True, help="Overwrite NEW.")
def command(
    old: str,
    new: str,
    stack: tuple[str, ...],
    unstack: tuple[str, ...],
    axis: int | None,
    nested: bool,
    like: str | None,
    model: str | None,
    to: str | None,
    force: bool,
) -> int:
    """Write the checkpoint OLD as NEW, with stacks in place of lists of layers, or the other way round.

    Formats are safetensors, NumPy archives (.npz), folders of orbax, and files of equinox.tree_serialise_leaves and
    flax.serialization.to_bytes (.msgpack).

    Arrays are copied byte for byte, a few at a time, whatever their dtype. If a part is missing or does not fit,
    nothing is written. The new file is read and converted back before it gets its name. All of a training state is
    converted wherever it is in the file: `--stack '*layers' --axis 0` finds the moments of an optimiser too.
    """
    _check(
        old,
        new,
        named=bool(stack or unstack),
        axes=nested or axis is not None,
        like=like,
        model=model,
        to=to,
        force=force,
    )
    if like is None:
        steps = [(True, Prefix.parse(text)) for text in stack] + [(False, Prefix.parse(text)) for text in unstack]
        return _finish(new, convert_names(Path(old), Path(new), steps, axis=axis, nested=nested))
    return _finish(new, convert_leaves(Path(old), Path(new), partial(tree_like, like, model), to_list=to == "list"))


def _check(
    old: str, new: str, *, named: bool, axes: bool, like: str | None, model: str | None, to: str | None, force: bool
) -> None:
    if named == (like is not None):
        got = "both" if named else "neither"
        raise ScanifyError(
            "expected --stack PREFIX or --unstack PREFIX for files with names (safetensors, npz), or --like "
            f"FILE:FUNCTION for those of equinox.tree_serialise_leaves; got {got}"
        )
    if like is None and (model is not None or to is not None):
        raise ScanifyError(f"{'--model' if model is not None else '--to'} goes with --like")
    if axes and not named:
        raise ScanifyError("--axis and --nested go with --stack or --unstack; --like says itself which axes there are")
    require("converting checkpoints", ["numpy"] if like is None else ["jax", "equinox", "numpy"])
    out = Path(new)
    if not out.parent.is_dir():
        raise ScanifyError(f"expected the new file in a folder that exists, got {new}")
    if out.exists() and Path(old).exists() and out.samefile(old):
        raise ScanifyError(f"expected the new file to be another than the old one, got {new} twice")
    if Path(old).is_dir() and out.resolve().is_relative_to(Path(old).resolve()):
        raise ScanifyError(f"expected the new folder outside of the old one, got {new} within {old}")
    if out.exists() and not (force and out.is_file()):
        raise ScanifyError(f"{new} exists; give --force to overwrite it" if out.is_file() else f"{new} is no file")


def _finish(new: str, counts: "Counts") -> int:
    tell(
        f"scanify: wrote {new}: {plural(counts.before, 'array')} became {counts.after} "
        f"({counts.nbytes / 2**20:,.1f} MiB, byte for byte)",
        err=True,
    )
    return Exit.OK
