"""A text that fits a spec for each row of a file: on this machine, or on a cluster of Ray."""
