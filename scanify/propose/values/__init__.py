"""The values of a proposed case: for each parameter of a constructor and of a call, as the text that is shown."""
