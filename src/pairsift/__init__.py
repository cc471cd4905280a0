"""Linear bipartite ranking (AUC) from data of any size, by training on the few pairs that matter."""

__version__ = "0.1.0"
