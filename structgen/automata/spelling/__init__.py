"""How texts are spelled in bytes, UTF-8 and JSON escapes, as tables for kernels."""
