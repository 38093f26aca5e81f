"""Languages of JSON numbers: ranges and multiples, by value."""
