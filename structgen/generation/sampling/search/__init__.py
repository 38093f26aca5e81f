"""Searches for the best texts: beams, best first, Monte Carlo tree search."""
