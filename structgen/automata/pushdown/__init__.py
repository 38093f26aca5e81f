"""The pushdown engine: a machine's actions, its tables, filled on demand, and how they are kept."""
