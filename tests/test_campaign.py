"""The campaign's table: what programs say is counted, and a line stays until its attack is run again."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import campaign


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("1000 mutated inputs, 12 of them well formed, no finding\nstat::number_of_executed_units: 500\n", 1500),
        ("2000000 inputs for the header of a store in 9 s: 1 read, 2 refused, 0 findings\n", 2_000_000),
        ("....\n2 failed, 70 passed, 3 deselected in 4.1s\n", 72),
        ("....\n70 passed in 4.1s\n", 70),
        ("Segmentation fault\n", 0),
    ],
)
def test_what_was_tried_is_counted_once(said, count):
    assert campaign.counted(said) == count


def test_a_line_replaces_the_last_one_of_its_attack_and_others_stay(tmp_path):
    path = tmp_path / "page.md"
    lines = (("disk full", 0), ("the same bits", 3), ("the same bits", 0), ("an attack of old", 0))
    ended = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [campaign.Line(name, 10, lost, 1.0, ended).text for name, lost in lines]
    path.write_text(f"above\n{campaign.BEGIN}\n{rows[3]}\n{campaign.END}\nbelow\n")
    campaign.write(path, rows[:2])
    campaign.write(path, rows[2:3])
    text = path.read_text()
    assert [line for line in text.splitlines() if line.startswith("| ")] == [campaign.HEAD[0], rows[0], rows[2]]
    assert text.startswith("above\n")
    assert text.endswith("below\n")
