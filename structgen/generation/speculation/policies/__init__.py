"""Length policies: how much to draft next; all read the measured costs of costs.py."""
