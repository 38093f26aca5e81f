"""Lookaheads and lookbehinds of terminals, and conditions on whole texts."""
