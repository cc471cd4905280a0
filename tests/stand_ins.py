"""Stand-ins for programs that no registry has: NOT the programs, only their command lines and files.

Each of them "learns" the difference of the class means, so that a test knows what must come back, and keeps its
arguments in the file ``<folder>/<name>.log``.
"""

import sys

SCRIPT = """#!{python}
import os, sys, time
import numpy as np

name, arguments = {name!r}, sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(f"{{os.getpid()}} {{' '.join(arguments)}}\\n")
if os.path.exists({log!r} + ".sleep"):
    time.sleep(60)


def option(*names, default=None):
    return next((arguments[arguments.index(key) + 1] for key in names if key in arguments), default)


def rows(path):
    labels, weights, found = [], [], []
    for line in open(path):
        head, _, body = line.partition("|f") if "|f" in line else line.partition(" ")
        words = head.split()
        labels.append(float(words[0]) if words else 0.0)
        weights.append(float(words[1]) if len(words) > 1 else 1.0)
        found.append({{int(k): float(v) for k, _, v in (word.partition(":") for word in body.split()) if k != "qid"}})
        assert found[-1], "a line without features"
        assert name != "ranksvm-train" or "qid:1 " in line
    width = max(max(row) for row in found)
    X = np.zeros((len(found), width + 1))
    for k, row in enumerate(found):
        X[k, list(row)] = list(row.values())
    return X, np.array(labels), np.array(weights)


def means(path):
    X, y, _ = rows(path)
    return X[y == y.max()].mean(axis=0) - X[y == y.min()].mean(axis=0)


if name == "svm_perf_learn":
    w = means(arguments[-2])
    half = " ".join(f"{{k}}:{{v!r}}" for k, v in enumerate((w / 2).tolist()) if k)
    with open(arguments[-1], "w") as model:
        model.write("SVM-light Version V6.20\\n0 # kernel type\\n")
        model.write("0 # threshold b, each following line is a SV (starting with alpha*y)\\n")
        model.write(f"3 {{half}} #\\n-1 {{half}} #\\n")
    print("Runtime in cpu-seconds: 0.25 (1.00% for QP)")
elif name == "sofia-ml":
    w = means(option("--training_file"))
    w[0] = 7.0
    open(option("--model_out"), "w").write(" ".join(map(repr, w.tolist())) + "\\n")
    print("Time to read training data: 3.5\\nTime to complete training: 0.125")
elif name == "ranksvm-train":
    w = means(arguments[-2])
    until = time.process_time() + (0.0 if option("-e") else 0.4)
    while time.process_time() < until:
        pass
    with open(arguments[-1], "w") as model:
        model.write(f"solver_type L2R_L2LOSS_RANKSVM\\nnr_class 2\\nnr_feature {{len(w) - 1}}\\nbias -1\\nw\\n")
        model.write("".join(f"{{value!r}}\\n" for value in w[1:].tolist()))
elif name == "vw":
    if option("-i"):
        w = np.load(option("-i") + ".npy")
        X, _, _ = rows(option("-d"))
        scores = X[:, : len(w)] @ w[: X.shape[1]]
        open(option("-r"), "w").write("".join(f"{{score!r}}\\n" for score in scores.tolist()))
    elif option("-d"):
        open(option("--cache_file"), "w").write(open(option("-d")).read())
    else:
        X, y, importance = rows(option("--cache_file"))
        assert np.isclose(importance[y > 0].sum(), importance[y < 0].sum())
        np.save(option("-f") + ".npy", means(option("--cache_file")))
        open(option("-f"), "w").close()
"""


def write_stand_in(folder, name):
    """Write a stand-in program; return its path and that of the log of its calls."""
    path, log = folder / name, folder / f"{name}.log"
    path.write_text(SCRIPT.format(python=sys.executable, name=name, log=str(log)))
    path.chmod(0o755)
    return path, log
