"""How the shipped demo models are made: their corpus, training and evaluation."""
