"""Keywords: what each keyword of JSON Schema demands, as a node in normal form."""
