"""In: rounds that were seen. Out: how much to draft next; costs.py is what all of them read."""
