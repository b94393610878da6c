"""Cases written from the calls that a run of the user's program makes."""
