"""One module for each command of `structgen`."""
