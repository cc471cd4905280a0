"""The paper's data sets: what they are, where they are, how to get them, and whether they are right."""

from pairsift.data.datasets.fetch import fetch
from pairsift.data.datasets.registry import DATASETS, Dataset, DatasetError, find_dataset
from pairsift.data.datasets.store import list_here, load_dataset, load_dataset_rows, part_path
from pairsift.data.datasets.verify import Verification, verify

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetError",
    "Verification",
    "fetch",
    "find_dataset",
    "list_here",
    "load_dataset",
    "load_dataset_rows",
    "part_path",
    "verify",
]
