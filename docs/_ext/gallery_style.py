"""The order of the gallery, and one look for all its pictures."""

# What is met first comes first; an example that is not named here comes last.
ORDER = (
    "learning_curve",
    "is_it_better",
    "pipeline_and_grid_search",
    "frontier",
    "rows_not_pairs",
    "out_of_core",
    "text_ranking",
    "calibration",
    "mislabelled_rows",
    "rejected_draws",
    "soft_and_hard",
    "bias_correction",
    "gamma",
    "own_sampler",
)


class TeachingOrder:
    """A key that sorts the examples of a folder."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __repr__(self):
        return "TeachingOrder"

    def __call__(self, filename):
        """Return the place of an example."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        return (ORDER.index(name) if name in ORDER else len(ORDER), filename)


def set_style(gallery_conf, fname):
    """Set matplotlib's defaults before an example runs."""
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "figure.figsize": (7.0, 4.0),
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "legend.frameon": False,
        }
    )
