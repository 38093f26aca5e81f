"""Specs made of specs: sequences, choices, tags in free text, tools, intersections, filters."""
