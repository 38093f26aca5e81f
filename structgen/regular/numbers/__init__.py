"""Languages of JSON numbers by value: ranges, multiples, unions, intersections and complements."""
