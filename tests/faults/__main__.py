"""Run one attack and print its tally as JSON in the last line."""

from __future__ import annotations

import argparse
import json
import sys

from faults.attacks import ATTACKS

parser = argparse.ArgumentParser(prog="python -m faults", description="Run one attack of the fault campaign.")
parser.add_argument("name", choices=list(ATTACKS))
parser.add_argument("--count", type=int, help="tries; by default those of the whole campaign")
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()
attack = ATTACKS[options.name]
tally = attack.run(options.count or attack.count, options.seed)
for loss in tally.losses[:20]:
    print(f"lost: {loss}", file=sys.stderr)
print(json.dumps(tally.as_dict()))
sys.exit(1 if tally.lost else 0)
