"""The format name of certificates, and their rejection, without a dependency on numpy."""

from scanify.errors import ScanifyError

FORMAT = "scanify certificate 1"


class Rejected(ScanifyError):
    """The certificate does not prove its claims."""
