"""Try an installed wheel from outside the source tree, with the core dependencies alone."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pairsift

home = Path(pairsift.__file__).parent
assert "site-packages" in str(home), f"{home} is not the installed package"
for file in ("py.typed", "experiments/paper.toml", "report/page.css", "report/page.js"):
    assert (home / file).exists(), f"{file} is not in the wheel"
X, y = pairsift.make_ranking(5000, 10, random_state=0)
model = pairsift.ActiveRankSVM(random_state=0).fit(X[:4000], y[:4000])
assert model.score(X[4000:], y[4000:]) > 0.8
with tempfile.TemporaryDirectory() as folder:
    text, saved = Path(folder, "rows.svm"), Path(folder, "model.safetensors")
    lines = (
        f"{label} " + " ".join(f"{c + 1}:{v:.6g}" for c, v in enumerate(row)) for row, label in zip(X, y, strict=True)
    )
    text.write_text("\n".join(lines) + "\n")
    command = Path(sys.executable).with_name("pairsift")
    subprocess.run([command, "fit", text, "-o", saved, "--random-state", "0"], check=True)
    out = subprocess.run([command, "score", saved, text], check=True, capture_output=True, text=True).stdout
    assert pairsift.auc(y, [float(line) for line in out.split()]) > 0.8
print("the wheel works")
