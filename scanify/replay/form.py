"""The name of the form of certificates, and their rejection: both without numpy."""

from scanify.errors import ScanifyError

FORMAT = "scanify certificate 1"


class Rejected(ScanifyError):
    """The certificate does not show what it says."""
