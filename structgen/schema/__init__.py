"""JSON Schema: from a schema to the pushdown machine that reads exactly the valid JSON texts.

In reading order: `json_schema` (the spec), `references` ($ref, drafts), `keywords` (a function per
keyword), `normal_form` (conjunction and negation), `objects` and `arrays` (which members and items
may come), `formats`, `machine` (lexemes and frames). `report` and `export` describe schemas,
`python` makes them of Python types.
"""
