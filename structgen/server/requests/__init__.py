"""What requests ask for: their fields, the one constraint they name, the tools they offer."""
