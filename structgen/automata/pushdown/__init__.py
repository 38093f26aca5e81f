"""The pushdown engine: a machine's actions in tables filled on demand, and how these are saved."""
