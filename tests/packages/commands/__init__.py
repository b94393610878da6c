"""Public packages, each with one command of its own that calls a model, verified with `scanify verify --run`."""
