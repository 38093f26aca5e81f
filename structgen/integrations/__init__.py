"""Adapters to the generation loops of other libraries; nothing in structgen imports them."""
