"""In: the text so far. Out: drafts of what comes next, made without a second model."""
