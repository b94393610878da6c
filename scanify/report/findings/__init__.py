"""The findings of `check`, in the formats that people and other tools read: one module per format."""
