"""What an attack came to: how often it was tried, and what was lost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass
class Tally:
    """Counts of one attack; a loss is whatever must never happen, each with a sentence."""

    attack: str
    count: int = 0
    losses: list[str] = field(default_factory=list)
    facts: dict[str, int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """How many of the tries lost something."""
        return len(self.losses)

    def tried(self, *faults: str) -> None:
        """Note one try, and what was wrong after it: nothing, if all is well."""
        self.count += 1
        if faults:
            self.losses.append("; ".join(faults))

    def note(self, fact: str, amount: int = 1) -> None:
        """Count something worth knowing, such as how many kills came before the file was renamed."""
        self.facts[fact] = self.facts.get(fact, 0) + amount

    def as_dict(self) -> dict[str, object]:
        """Return the counts as plain values, for JSON."""
        return {**asdict(self), "survived": self.count - self.lost, "lost": self.lost}
