"""A debugging switch: check each layer of a scan while it runs."""
