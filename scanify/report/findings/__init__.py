"""What `check` finds, in each of the formats that people and other tools read: one file for each."""
