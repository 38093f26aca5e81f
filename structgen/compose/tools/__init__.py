"""Tool calls: what tools take, and how models write calls of them."""
