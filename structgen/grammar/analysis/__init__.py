"""What can be said of a grammar before a text is read: neighbours, follow sets, dead ends."""
