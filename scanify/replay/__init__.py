"""The checker of certificates. It imports neither jax nor the prover; they share the table of primitives alone."""
