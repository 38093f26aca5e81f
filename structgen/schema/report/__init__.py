"""Reports on a schema: what is enforced, at what cost, and what looks like a mistake."""
