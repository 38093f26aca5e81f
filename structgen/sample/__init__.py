"""In: a model, a prompt and a spec. Out: samples of the model's own law, given that the text fits.

Masking renormalises each step and ignores what may still follow, so it bends the law of the texts.
What is here corrects that, or says by how much. START HERE:

interfaces  how samplers see a model, a potential, and each other
posterior   the law to sample: model, constraint, potentials, a budget of tokens
results     Sample and Samples: texts with their weights
"""
