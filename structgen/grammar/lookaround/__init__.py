"""Terminals that look at what comes before or behind them."""
