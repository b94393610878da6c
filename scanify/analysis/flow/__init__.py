"""Dataflow of one lowered loop: the names that it reads, writes and carries from layer to layer."""
