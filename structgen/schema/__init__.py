"""In: what the user wrote (schemas, patterns, Python types). Out: languages in normal form."""
