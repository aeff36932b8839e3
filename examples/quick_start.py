"""A stub until the search exists: print the brackets of a Hyperband."""

from sklearn_halving.policies import Hyperband

for bracket in Hyperband(factor=3).schedule(1, 81).brackets:
    print(bracket.label, [(rung.n_arms, rung.level) for rung in bracket.rungs])
