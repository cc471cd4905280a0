"""The import layers of the design: a module imports only from layers below its own, scikit-learn only where it may."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pairsift

ROOT = Path(pairsift.__file__).parent
LAYERS = [
    {"_core", "_typing", "parameters", "budget", "reference", "words"},
    {"data"},
    {"pairs", "sampling", "losses", "all_pairs", "all_pairs_reference", "objectives"},
    {"solvers"},
    {"active", "threshold"},
    {"stats"},
    {"pair_features", "probabilities"},
    {"linear_model"},
    {"calibration", "model_file"},
    {"judge"},
    {"validation"},
    {"checkpoint"},
    {"training_run"},
    {"model"},
    {"certificates", "export", "inspection", "self_check"},
    {"search"},
    {"engines"},
    {"estimators"},
    {"dask", "spark"},
    {"experiments"},
    {"report"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")
EXTRAS = {"pyarrow", "pandas", "polars", "matplotlib", "onnx", "pyspark", "dask", "distributed", "jinja2"}


def imports(path):
    """All imports of a module: (top name, dotted name, whether it is made when the module is imported)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or _is_type_checking(node)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            module = node.module or ""
            names = [f"pairsift.{alias.name}" for alias in node.names] if module == "pairsift" else [module]
        else:
            continue
        for name in names:
            yield name.split(".")[0], name, id(node) not in lazy


def _is_type_checking(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def layer_of(path):
    first = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert first in LEVEL, f"{first} has no layer: put it into the list of this test and into the design"
    return LEVEL[first]


def home(name):
    """The part of pairsift that a dotted name belongs to; names of the package itself are looked up."""
    part = name.split(".")[1]
    return pairsift._HOME[part].split(".")[1] if part in pairsift._HOME and part not in LEVEL else part


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path):
    level = layer_of(path)
    for top, name, _ in imports(path):
        if top == "pairsift" and name not in ("pairsift", "pairsift.__version__"):
            below = LEVEL[home(name)]
            assert below <= level, f"{path.name} imports {name}, which is in a layer above"
            if below == level and level > 0:
                same_folder = home(name) == path.relative_to(ROOT).parts[0].removesuffix(".py")
                assert same_folder or level in (2, 4), f"{path.name} imports {name} beside it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_scikit_learn_and_extras_are_kept_apart(path):
    part = path.relative_to(ROOT).parts[0]
    for top, name, at_import in imports(path):
        if top == "sklearn":
            lazily = not at_import and part in ("cli", "calibration.py")
            assert part in ("estimators", "experiments") or lazily, name
        its_own = top == "pyspark" and part == "spark.py"  # the classes of that module are pyspark's
        assert its_own or not (top in EXTRAS and at_import), f"{name} must be imported where it is used"


@pytest.mark.parametrize(
    "module", ["pairsift", "pairsift.cli", "pairsift.model", "pairsift.active", "pairsift.data.store"]
)
def test_light_modules_do_not_bring_scikit_learn(module):
    heavy = {"sklearn", "pyarrow", "pandas", "polars", "matplotlib"}
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_test_sees_imports(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("import sklearn.svm\ndef f():\n    from pairsift.cli import main\n    from pairsift import auc\n")
    assert list(imports(path)) == [
        ("sklearn", "sklearn.svm", True),
        ("pairsift", "pairsift.cli", False),
        ("pairsift", "pairsift.auc", False),
    ]
    assert home("pairsift.auc") == "stats"


def test_no_module_has_the_name_of_something_public():
    """A module that is imported becomes an attribute of its package, and would hide the function of that name."""
    assert not set(pairsift.__all__) & {path.stem for path in ROOT.iterdir()}
