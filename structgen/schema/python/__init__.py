"""Python types as schemas: Pydantic models, dataclasses, TypedDicts, enums."""
