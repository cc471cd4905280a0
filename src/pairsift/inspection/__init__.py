"""Looking into a model: what its features do to the ranking, how it was trained, which rows contradict it."""

from pairsift.inspection.contributions import Contribution, contributions
from pairsift.inspection.rounds import acceptance_by_round
from pairsift.inspection.suspects import Suspect, find_suspects, mean_pair_losses

__all__ = ["Contribution", "Suspect", "acceptance_by_round", "contributions", "find_suspects", "mean_pair_losses"]
