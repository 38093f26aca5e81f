"""The nearest schema that a provider of models accepts."""
