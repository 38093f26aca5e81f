"""In: schemas and instances from elsewhere. Out: what structgen makes of them, in figures."""
