"""Which names are public: what `import pairsift` offers, and what the modules for building on it offer."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pairsift

# Modules whose `__all__` is public, and modules of which some names are.
MODULES = ["pairsift", "pairsift.stats", "pairsift.sampling", "pairsift.inspection", "pairsift.data.datasets"]
SOME_NAMES = {
    "pairsift.active": ["Round", "Settings", "State", "active_sampling", "fit_active", "make_settings"],
    "pairsift.data.convert": ["convert"],
    "pairsift.data.store": ["StoreChangedError", "StoreError", "StoreFormatError"],
    "pairsift.data.training": ["DataOptions", "TrainingData", "open_training_data"],
    "pairsift.export": ["export_model"],
    "pairsift.model": ["ModelFileError", "as_model", "trained_model"],
}
# Modules that import an extra, which need not be installed here: their names are read from their source.
EXTRAS = ("dask", "spark")
_FROM_SCIKIT_LEARN = ("fit", "decision_function", "predict", "score")


def public_names():
    """Return the full name of every public object; one that two modules offer is named by the first."""
    names, seen = [], set()
    for module, listed in [*((module, None) for module in MODULES), *SOME_NAMES.items()]:
        home = import_module(module)
        for name in listed or home.__all__:
            thing = getattr(home, name)
            if id(thing) not in seen:
                seen.add(id(thing))
                names.append(f"{module}.{name}")
    return names


def names_of_extras():
    """Return the full names of the public classes and functions of the modules of `EXTRAS`."""
    names = []
    for module in EXTRAS:
        tree = ast.parse((Path(pairsift.__file__).parent / f"{module}.py").read_text())
        listed = [
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "__all__"
        ]
        defined = [
            node.name
            for node in tree.body
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
        ]
        names += [f"pairsift.{module}.{name}" for name in (listed[0] if listed else defined)]
    return names


def public_object(full_name):
    """Return the object of a full name."""
    module, name = full_name.rsplit(".", 1)
    return getattr(import_module(module), name)


def own_members(kind):
    """Return the public methods and properties of a class that are its own, and what makes an estimator."""
    shown = [
        name
        for name, member in vars(kind).items()
        if not name.startswith("_")
        and not name.endswith("_request")
        and (inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod))
    ]
    inherited = [name for name in _FROM_SCIKIT_LEARN if hasattr(kind, name) and name not in shown]
    return shown + inherited


def members_by_class():
    """Return what the page of each public class shows."""
    things = {name: public_object(name) for name in public_names()}
    shown = {name: own_members(thing) for name, thing in things.items() if inspect.isclass(thing)}
    return shown | {name: _members_in_source(name.rsplit(".", 1)[1]) for name in names_of_extras()}


def _members_in_source(kind):
    """Return the public methods that the source of a class defines, without importing it."""
    for path in sorted(Path(pairsift.__file__).parent.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name == kind:
                methods = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
                return [name for name in methods if not name.startswith("_")]
    return []  # a function
