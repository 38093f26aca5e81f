"""In: schemas, instances and engines. Out: what each engine makes of them, in figures."""
