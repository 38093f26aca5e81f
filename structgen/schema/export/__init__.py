"""Export to the JSON Schema dialects of providers of language models."""
