"""The pushdown machine that reads JSON texts whose value fits a schema (start at `machine`)."""
