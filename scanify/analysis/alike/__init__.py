"""Whether the layers of a list may share one body, what a scan gains, and how one call builds the layers."""
