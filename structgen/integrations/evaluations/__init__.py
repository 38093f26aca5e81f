"""structgen as a model or engine of other people's evaluations."""
