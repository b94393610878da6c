"""A switch for debugging: each layer of a scan is looked at while it runs."""
