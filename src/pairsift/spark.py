"""Training on Spark: `SparkRanker`, an Estimator of pyspark.ml, and its model. Needs the extra ``[spark]``."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from pairsift.engines.algorithm import fit_on_engine
from pairsift.engines.columns import Columns
from pairsift.engines.evaluation import auc_on_engine
from pairsift.engines.options import PARAMETERS, options_of_method
from pairsift.engines.spark import SparkEngine, import_pyspark
from pairsift.engines.spark_scores import score_column
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
    method: Any = Param(Params._dummy(), "method", '"auto" or "active"', TypeConverters.toString)
    C: Any = Param(
        Params._dummy(), "C", 'weight of the mean loss (active: of a chosen pair), or "auto"', _number_or_word
    )
    terms: Any = Param(Params._dummy(), "terms", 'auto: "pairs", "points" or "auto"', TypeConverters.toString)
    loss: Any = Param(Params._dummy(), "loss", 'auto: a loss, or "auto"', TypeConverters.toString)
    gamma: Any = Param(
        Params._dummy(), "gamma", 'active: pairs against points, in [0, 1] or "uniform"', _number_or_word
    )
    sampling: Any = Param(Params._dummy(), "sampling", "active: the sampler", TypeConverters.toString)
    bias_correction: Any = Param(
        Params._dummy(), "bias_correction", "active: weight pairs by 1 / p", TypeConverters.toBoolean
    )
    threshold: Any = Param(
        Params._dummy(), "threshold", "active: learn a threshold from points", TypeConverters.toBoolean
    )
    budget: Any = Param(
        Params._dummy(), "budget", 'rows of each class (active: pairs) to train on, or "auto"', _count_or_word
    )
    batch_size: Any = Param(Params._dummy(), "batch_size", "active: pairs drawn a round", TypeConverters.toInt)
    tol: Any = Param(Params._dummy(), "tol", "relative gap", TypeConverters.toFloat)
    max_iter: Any = Param(Params._dummy(), "max_iter", "steps of the last solve at most", TypeConverters.toInt)
    random_state: Any = Param(Params._dummy(), "random_state", "seed", TypeConverters.toInt)

    def _features(self) -> tuple[str, ...]:
        if self.isDefined(self.featuresCols):
            return tuple(self.getOrDefault(self.featuresCols))
        return (str(self.getFeaturesCol()),)

    def _given(self, param: Any) -> Any:
        return self.getOrDefault(param) if self.isDefined(param) else None


class SparkRanker(_RankerParams, Estimator, DefaultParamsReadable, DefaultParamsWritable):
    """Linear bipartite ranking (AUC) of a Spark data frame.

    Learns what `pairsift.AutoRanker` or `pairsift.ActiveRankSVM` learns with the same parameters. The frame is scanned
    where it is, a few times; the rows that training needs come to the driver: docs/clusters.md.

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
    method : "auto" or "active", default="auto"
        What is learned: what `pairsift.AutoRanker` learns ("auto") or `pairsift.ActiveRankSVM` ("active"). A parameter
        of the other method is refused; None is the method's default.
    C, terms, loss, budget, tol, max_iter
        Of "auto"; the budget is a number of rows of each class, 100,000 by default.
    C, gamma, sampling, bias_correction, threshold, budget, batch_size, tol, max_iter
        Of "active"; the budget is a number of pairs.
    random_state : int, optional
        The same seed and the same keys of rows give the same bits, for any number of workers and partitions.
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
        method: str = "auto",
        C: float | str | None = None,
        terms: str | None = None,
        loss: str | None = None,
        gamma: float | str | None = None,
        sampling: str | None = None,
        bias_correction: bool | None = None,
        threshold: bool | None = None,
        budget: int | str | None = None,
        batch_size: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__()
        self._setDefault(method="auto")
        self.setParams(**self._input_kwargs)

    @keyword_only
    def setParams(self, **params: Any) -> SparkRanker:
        """Set parameters by name; None leaves one as it is."""
        given = {name: value for name, value in params.items() if value is not None}
        ranker: SparkRanker = self._set(**given)
        return ranker

    def _fit(self, dataset: Any) -> SparkRankerModel:
        given = {name: self._given(getattr(self, name)) for name in PARAMETERS}
        options = options_of_method(self.getOrDefault(self.method), given)
        engine = SparkEngine(dataset, self._given(self.idCol))
        if not engine.has_stable_keys:
            warnings.warn(
                "The rows have no ids, and their places in files are not known: the bits of this fit depend on how the "
                "frame is divided. Name a column of ids with idCol.",
                stacklevel=3,
            )
        columns = Columns(self._features(), self.getLabelCol(), self._given(self.weightCol), engine.key)
        method = self.getOrDefault(self.method)
        found = fit_on_engine(engine, columns, method, options, self._given(self.random_state))
        names = self._features() if self.isDefined(self.featuresCols) else None
        model = LinearModel(
            found.w[np.newaxis].copy(),
            np.array([0.0 - found.theta]),
            np.array(found.counts.labels),
            None if names is None else np.array(names, dtype=object),
            {"estimator": "SparkRanker", "settings": {"method": method, **options}, "training": found.facts()},
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
