"""Language models of transformers, as the generation loop sees them."""
