"""`scanify server`: the language server for editors."""

import click

from scanify.errors import Exit, ScanifyError
from scanify.server import serve


@click.command("server", short_help="Tell an editor what is found while somebody types.")
def command() -> int:
    """Speak the language server protocol on standard input and output.

    Editors start it, as `docs/how-to/editors.md` explains. It needs pygls: `pip install 'scanify-jax[server]'`.
    """
    try:
        import pygls  # noqa: F401
    except ModuleNotFoundError:
        raise ScanifyError(
            "`scanify server` needs pygls, which is not installed where scanify is; "
            "`pip install 'scanify-jax[server]'` brings it"
        ) from None
    serve()
    return Exit.OK
