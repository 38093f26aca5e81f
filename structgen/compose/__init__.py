"""In: specs. Out: specs made of them: one after another, tags in free text, tools, all or any."""
