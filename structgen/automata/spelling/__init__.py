"""How texts are spelled in bytes: UTF-8, and escapes inside JSON strings."""
