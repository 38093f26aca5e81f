"""structgen as a grammar backend of SGLang."""
