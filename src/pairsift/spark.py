"""Training on Spark: `SparkRanker`, an Estimator of pyspark.ml, and its model. Needs the extra ``[spark]``."""

from __future__ import annotations

import os
import tempfile
import warnings
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from pairsift.engines.algorithm import fit_on_engine
from pairsift.engines.columns import Columns
from pairsift.engines.evaluation import auc_on_engine
from pairsift.engines.spark import SparkEngine, import_pyspark
from pairsift.engines.spark_scores import score_column
from pairsift.estimators.active import SETTINGS, ActiveRankSVM
from pairsift.model import LinearModel, load_model, save_model
from pairsift.stats import AucInterval

import_pyspark()

from pyspark import keyword_only  # noqa: E402 - after the line that says how to get it
from pyspark.ml import Estimator, Model  # noqa: E402
from pyspark.ml.param import Param, Params, TypeConverters  # noqa: E402
from pyspark.ml.param.shared import (  # noqa: E402
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasRawPredictionCol,
    HasWeightCol,
)
from pyspark.ml.util import (  # noqa: E402
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions  # noqa: E402

_DEFAULTS = {name: signature(ActiveRankSVM).parameters[name].default for name in SETTINGS}


def _number_or_word(value: Any) -> float | str:
    return value if isinstance(value, str) else float(TypeConverters.toFloat(value))


def _count_or_word(value: Any) -> int | str:
    return value if isinstance(value, str) else int(TypeConverters.toInt(value))


class _RankerParams(HasFeaturesCol, HasLabelCol, HasWeightCol, HasPredictionCol, HasRawPredictionCol):
    """What the estimator and its model share."""

    idCol: Any = Param(
        Params._dummy(),
        "idCol",
        "column of ids, whole numbers or text, all different: with it the same seed gives the same bits however the "
        "frame is divided",
        TypeConverters.toString,
    )
    featuresCols: Any = Param(
        Params._dummy(), "featuresCols", "columns of numbers, instead of featuresCol", TypeConverters.toListString
    )
    C: Any = Param(Params._dummy(), "C", 'weight of a chosen pair, or "auto"', _number_or_word)
    gamma: Any = Param(
        Params._dummy(), "gamma", 'pairs against points: in [0, 1], "uniform" or "auto"', _number_or_word
    )
    sampling: Any = Param(Params._dummy(), "sampling", "the sampler", TypeConverters.toString)
    bias_correction: Any = Param(Params._dummy(), "bias_correction", "weight pairs by 1 / p", TypeConverters.toBoolean)
    threshold: Any = Param(Params._dummy(), "threshold", "learn a threshold from points", TypeConverters.toBoolean)
    budget: Any = Param(
        Params._dummy(), "budget", 'pairs (block: rows of a class) to train on, or "auto"', _count_or_word
    )
    batch_size: Any = Param(Params._dummy(), "batch_size", "pairs drawn a round", TypeConverters.toInt)
    tol: Any = Param(Params._dummy(), "tol", "relative duality gap", TypeConverters.toFloat)
    max_iter: Any = Param(Params._dummy(), "max_iter", "passes of the last solve at most", TypeConverters.toInt)
    loss: Any = Param(Params._dummy(), "loss", "of block training", TypeConverters.toString)
    random_state: Any = Param(Params._dummy(), "random_state", "seed", TypeConverters.toInt)

    def _features(self) -> tuple[str, ...]:
        if self.isDefined(self.featuresCols):
            return tuple(self.getOrDefault(self.featuresCols))
        return (str(self.getFeaturesCol()),)

    def _given(self, param: Any) -> Any:
        return self.getOrDefault(param) if self.isDefined(param) else None


class SparkRanker(_RankerParams, Estimator, DefaultParamsReadable, DefaultParamsWritable):
    """Linear bipartite ranking (AUC) of a Spark data frame, by active sampling of pairs.

    Learns what `pairsift.ActiveRankSVM` learns with the same parameters. The frame is scanned where it is, a few times;
    the rows that training needs come to the driver: docs/clusters.md.

    Parameters
    ----------
    featuresCol : str, default="features"
        A column of vectors, or of arrays of numbers.
    featuresCols : list of str, optional
        Columns of numbers, instead.
    labelCol : str, default="label"
        Two labels; the larger one is positive.
    weightCol, idCol : str, optional
        Sample weights; ids of the rows. Without ids the key of a row is its place in the files that the frame reads;
        where Spark does not know that, `fit` warns that the bits depend on how the frame is divided.
    predictionCol, rawPredictionCol : str
        Columns that the model adds: the label, and the score.
    C, gamma, sampling, bias_correction, threshold, budget, batch_size, tol, max_iter, random_state, loss
        As in `pairsift.ActiveRankSVM`; the budget is a number of pairs (block: of rows of a class).
    """

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        featuresCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        idCol: str | None = None,
        predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction",
        C: float | str | None = None,
        gamma: float | str | None = None,
        sampling: str | None = None,
        bias_correction: bool | None = None,
        threshold: bool | None = None,
        budget: int | str | None = None,
        batch_size: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | None = None,
        loss: str | None = None,
    ) -> None:
        super().__init__()
        self._setDefault(**_DEFAULTS)
        self.setParams(**self._input_kwargs)

    @keyword_only
    def setParams(self, **params: Any) -> SparkRanker:
        """Set parameters by name; None leaves one as it is."""
        given = {name: value for name, value in params.items() if value is not None}
        ranker: SparkRanker = self._set(**given)
        return ranker

    def _fit(self, dataset: Any) -> SparkRankerModel:
        engine = SparkEngine(dataset, self._given(self.idCol))
        if not engine.has_stable_keys:
            warnings.warn(
                "The rows have no ids, and their places in files are not known: the bits of this fit depend on how the "
                "frame is divided. Name a column of ids with idCol.",
                stacklevel=3,
            )
        columns = Columns(self._features(), self.getLabelCol(), self._given(self.weightCol), engine.key)
        options = {name: self.getOrDefault(name) for name in SETTINGS}
        found = fit_on_engine(engine, columns, options, self._given(self.random_state))
        names = self._features() if self.isDefined(self.featuresCols) else None
        model = LinearModel(
            found.w[np.newaxis].copy(),
            np.array([0.0 - found.theta]),
            np.array(found.counts.labels),
            None if names is None else np.array(names, dtype=object),
            {"estimator": "SparkRanker", "settings": options, "training": found.facts()},
        )
        made: SparkRankerModel = self._copyValues(SparkRankerModel(model, sparse=found.counts.sparse))
        return made


class SparkRankerModel(_RankerParams, Model, MLWritable, MLReadable[Any]):
    """A linear model that scores the rows of a Spark data frame.

    Attributes
    ----------
    model : pairsift.LinearModel
        To be saved with `pairsift.save_model`, and used without Spark.
    """

    def __init__(self, model: LinearModel | None = None, *, sparse: bool = False) -> None:
        super().__init__()
        self._linear, self._sparse = model, sparse

    @property
    def model(self) -> LinearModel:
        """The linear model."""
        if self._linear is None:
            raise ValueError("This SparkRankerModel has no coefficients; load one, or fit a SparkRanker.")
        return self._linear

    @property
    def coefficients(self) -> Any:
        """The weights, one a feature."""
        return self.model.coef_[0]

    @property
    def intercept(self) -> float:
        """Minus the threshold."""
        return float(self.model.intercept_[0])

    def _transform(self, dataset: Any) -> Any:
        score = score_column(dataset, self._features(), self.coefficients, self.intercept)
        scored = dataset.withColumn(self.getRawPredictionCol(), score)
        above = functions.col(self.getRawPredictionCol()) > 0
        negative, positive = (functions.lit(_spark_label(label)) for label in self.model.classes_.tolist())
        return scored.withColumn(self.getPredictionCol(), functions.when(above, positive).otherwise(negative))

    def auc_interval(self, dataset: Any, level: float = 0.95) -> AucInterval:
        """Return the exact AUC of all rows together and its confidence interval, as `pairsift.auc_interval` does."""
        engine = SparkEngine(dataset, keyed=False)
        negative, positive = self.model.classes_.tolist()
        columns = Columns(self._features(), self.getLabelCol())
        return auc_on_engine(engine, columns, (negative, positive), self.coefficients, sparse=self._sparse, level=level)

    def write(self) -> Any:
        """Return what saves this model: parameters as JSON, coefficients as a pairsift model file."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> Any:
        """Return what loads a saved model; nothing in it is ever executed."""
        return _ModelReader()


class _ModelWriter(MLWriter):
    def __init__(self, model: SparkRankerModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self._model, path, self.sparkSession, {"sparse": self._model._sparse})
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.safetensors"
            save_model(self._model.model, file)
            content = bytearray(file.read_bytes())
        frame = self.sparkSession.createDataFrame([(content,)], "model binary")
        frame.coalesce(1).write.parquet(os.path.join(path, "data"))


class _ModelReader(MLReader[Any]):
    def load(self, path: str) -> SparkRankerModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        (row,) = self.sparkSession.read.parquet(os.path.join(path, "data")).collect()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.safetensors"
            file.write_bytes(bytes(row[0]))
            linear = load_model(file)
        model = SparkRankerModel(linear, sparse=bool(metadata.get("sparse", False)))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def auc_interval(
    frame: Any, scoreCol: str = "rawPrediction", labelCol: str = "label", level: float = 0.95
) -> AucInterval:
    """Return the exact AUC of a column of scores, and its confidence interval, as `pairsift.auc_interval` does.

    All rows are ranked together, wherever they lie; the larger label is positive. Each row counts once.
    """
    from pairsift.engines.algorithm import count_classes

    engine, columns = SparkEngine(frame, keyed=False), Columns((scoreCol,), labelCol)
    return auc_on_engine(engine, columns, count_classes(engine, columns).labels, level=level)


def _spark_label(label: Any) -> Any:
    return label if isinstance(label, str | bool) else float(label)
