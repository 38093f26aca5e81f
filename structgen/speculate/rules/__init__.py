"""In: forks of a draft tree. Out: acceptance rules, each a plan of what is kept there."""

from structgen.speculate.rules.sample_compare import SampleCompare

__all__ = ["SampleCompare"]
