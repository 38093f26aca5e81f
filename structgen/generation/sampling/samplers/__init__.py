"""Samplers: mask, AWRS, ASAp, CARS, rejection, sequential Monte Carlo, best of several."""
