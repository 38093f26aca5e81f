"""In: a constraint. Out: adapters to other people's generation loops; nothing imports these."""
