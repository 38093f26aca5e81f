"""Keywords: what each keyword of JSON Schema demands, as a normal form (start at `keywords`)."""
