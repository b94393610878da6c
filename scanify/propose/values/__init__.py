"""The values of a proposed case: the source for each parameter of a constructor and of a call."""
