"""One module per command: options in, exit code out. Only these modules print; the stages they call do not."""
