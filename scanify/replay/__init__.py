"""The checker of certificates. It imports neither jax nor the prover; the table of primitives is all that they share."""
