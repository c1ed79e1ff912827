"""From a fitted model to an ONNX graph: converters for skl2onnx, and the graph of a whole pipeline.

Every graph takes and computes double precision, gives labels and probabilities, and runs in
onnxruntime without Python.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from robell import __version__
from robell._tools.optional import require
from robell._tools.text import did_you_mean, said
from robell.models import CLASSIFIERS, REGRESSORS
from robell.models._estimator import BaseRVFLClassifier
from robell.models.noise_robust import NoiseRobustRVFLClassifier
from robell.models.thresholded import ThresholdClassifier
from robell.persist.model_info import plain_value, threshold_of
from robell.persist.onnx.networks import calibrated, network_scores, require_own, robust_parts
from robell.persist.onnx.nodes import Graph, NotConvertible, Value
from robell.persist.onnx.tables import encoded_columns, encoder_inputs
from robell.persist.other_classifiers import ROBUST, type_name
from robell.tables.encoder import TableEncoder

OPSET = 20  # of ONNX, the first with patterns of text; newer ones add nothing that is needed
_registered: list[bool] = []


def register_converters() -> None:
    """Teach skl2onnx all models of this package and the table encoder.

    Afterwards ``skl2onnx.convert_sklearn`` and ``skl2onnx.to_onnx`` take pipelines that hold them.

    Examples
    --------
    >>> from robell.export import register_converters
    >>> register_converters()
    """
    skl2onnx = require("skl2onnx", "onnx")
    if _registered:
        return
    options = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
    options |= {"output_class_labels": [True, False]}
    wrapper = {"ThresholdClassifier": "robell.models.thresholded"}
    wrapper |= {"NoiseRobustClassifier": "robell.labels.robust"}
    encoder = {"TableEncoder": "robell.tables.encoder"}
    for homes, shapes, values_of, more in (
        (CLASSIFIERS | wrapper, _classifier_shapes, _of_classifier, {"options": options}),
        (REGRESSORS, _matrix_shape, _of_regressor, {}),
        (encoder, _matrix_shape, _of_encoder, {}),
    ):
        for name, home in homes.items():
            kind, convert = getattr(import_module(home), name), _converter(values_of)
            skl2onnx.update_registered_converter(kind, f"Robell{name}", shapes, convert, **more)
    _registered.append(True)


def _classifier_shapes(operator):
    """Set the types of the outputs: labels as they are, and a column of doubles for each class."""
    from skl2onnx.common import data_types

    model = operator.raw_operator
    kinds = {"b": data_types.BooleanTensorType, "f": data_types.DoubleTensorType}
    kinds |= dict.fromkeys("iu", data_types.Int64TensorType)
    kinds |= dict.fromkeys("UO", data_types.StringTensorType)
    n = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = kinds[np.asarray(model.classes_).dtype.kind]([n])
    operator.outputs[1].type = data_types.DoubleTensorType([n, len(model.classes_)])


def _matrix_shape(operator):
    """Set the type of the only output: doubles, a column for each number that a row becomes."""
    from skl2onnx.common.data_types import DoubleTensorType

    model = operator.raw_operator
    is_encoder = isinstance(model, TableEncoder)
    width = len(model.get_feature_names_out()) if is_encoder else model.n_outputs_
    operator.outputs[0].type = DoubleTensorType([operator.inputs[0].get_first_dimension(), width])


def _converter(values_of):
    """Return a converter that writes what a function gives as the outputs of an operator."""

    def convert(scope, operator, container):
        graph = Graph(scope, container)
        inputs = [Value(graph, one.full_name) for one in operator.inputs]
        values = values_of(graph, operator, inputs)
        for value, output in zip(values, operator.outputs, strict=True):
            graph.node("Identity", value, output=output.full_name)

    return convert


def _of_encoder(graph, operator, inputs):
    """Return the encoded columns; the inputs are one table, or a column each."""
    encoder = operator.raw_operator
    held = getattr(encoder, "held_", ())
    fed = [plan["place"] for plan in encoder.plans_ if plan["name"] not in held]
    if len(inputs) == 1 and operator.inputs[0].type.shape[1] == encoder.n_features_in_ > 1:
        of_place = {place: graph.columns(inputs[0], [place]) for place in fed}
    elif len(inputs) == len(fed):
        of_place = dict(zip(fed, inputs, strict=True))
    else:
        of_place = {place: inputs[place] for place in fed}
    cells = [of_place.get(plan["place"]) for plan in encoder.plans_]
    return [encoded_columns(graph, encoder, cells)]


def _of_classifier(graph, operator, inputs):
    model = operator.raw_operator
    best, second = labels_and_probabilities(graph, model, graph.rows_of(inputs))
    return graph.node("Gather", np.asarray(model.classes_), best, axis=0), second


def _of_regressor(graph, operator, inputs):
    require_own(operator.raw_operator)
    return [network_scores(graph, operator.raw_operator, graph.rows_of(inputs))]


def labels_and_probabilities(graph, model, X):
    """Return the places of the predicted classes, and probabilities (scores if there are none)."""
    model, X = _through_steps(graph, model, X)
    if isinstance(model, ThresholdClassifier):
        return _by_threshold(graph, model, X)
    if isinstance(model, NoiseRobustRVFLClassifier) or type_name(model) == ROBUST:
        require_own(model)
        return robust_parts(graph, model, X)[1:]
    scores = class_scores(graph, model, X)
    is_calibrated = hasattr(model, "calibration_slope_")
    return graph.best(scores), calibrated(graph, scores, model) if is_calibrated else scores


def _through_steps(graph, model, X):
    """Return the last step of a pipeline within a classifier, and the rows that it is given."""
    if not isinstance(model, Pipeline):
        return model, X
    for _, step in model.steps[:-1]:
        if not isinstance(step, StandardScaler):
            raise NotConvertible(f"{type(step).__name__} behind a threshold has no ONNX form")
        if step.mean_ is not None and step.with_mean:
            X = X - step.mean_
        if step.scale_ is not None:
            X = X / step.scale_
    return model.steps[-1][1], X


def class_scores(graph, model, X):
    """Return one score a class; of two classes 0 and the difference."""
    model, X = _through_steps(graph, model, X)
    require_own(model)
    if isinstance(model, NoiseRobustRVFLClassifier) or type_name(model) == ROBUST:
        return robust_parts(graph, model, X)[0]
    if not isinstance(model, BaseRVFLClassifier):
        raise NotConvertible(f"{type(model).__name__} has no ONNX form")
    scores = network_scores(graph, model, X)
    if len(model.classes_) > 2:
        return scores
    return graph.beside(scores * 0.0, scores)


def _by_threshold(graph, model, X):
    """Return the positive class where its probability reaches the threshold."""
    require_own(model)
    n_classes = len(model.classes_)
    if model.slope is None:
        probability = labels_and_probabilities(graph, model.estimator_, X)[1]
    else:
        offsets = np.zeros(n_classes) if model.offsets is None else np.asarray(model.offsets, float)
        slope = np.full((1, n_classes), float(model.slope))
        logits = class_scores(graph, model.estimator_, X) * slope + offsets[None, :]
        probability = graph.node("Softmax", logits, axis=1)
    if n_classes > 2:
        return graph.best(probability), probability
    place = int(model.positive_ == model.classes_[-1])
    flagged = graph.node("Gather", probability, np.array(place), axis=1) >= model.threshold_
    return graph.node("Where", flagged, np.array(place), np.array(1 - place)), probability


def to_onnx(model: Any, *, without: Iterable[str] = (), target: str | None = None) -> Any:
    """Return a fitted model or pipeline as an ONNX graph, in double precision.

    Parameters
    ----------
    model : fitted estimator or pipeline
        A model of robell's, alone or as the last step of a pipeline of transformers that skl2onnx
        knows; ``NoiseRobustClassifier`` around logistic regression, a random forest or naive Bayes.
    without : iterable of str, default=()
        Columns that a :class:`TableEncoder` reads and the graph shall not: they are held at their
        usual values, those of the mean row of the training table, so that predictions differ.
    target : str, default=None
        The column that is predicted, for the metadata.

    Returns
    -------
    graph : onnx.ModelProto
        Its input is ``X``, rows of doubles; behind a :class:`TableEncoder` or a
        ``ColumnTransformer`` of named columns, one input for each column that is used, of shape
        (n, 1): doubles (NaN where missing, dates as days since 1970) or texts, in which spaces
        around a cell and words such as "NA" for none are taken as the encoder takes them.
        Of a column of words the first 400 characters count. Its outputs are ``label`` and
        ``probabilities`` (of a model without probabilities its scores); of a regressor,
        ``variable``. Its metadata hold, as JSON, ``robell.version``, ``robell.target``,
        ``robell.classes``, ``robell.threshold`` (the probability from which on a class is
        predicted), ``robell.inputs`` (how each is fed) and ``robell.without``.

    Raises
    ------
    NotConvertible
        A ValueError of one line that says which part has no ONNX form.

    Examples
    --------
    >>> import numpy as np, onnxruntime
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from robell import RVFLClassifier
    >>> from robell.export import to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), RVFLClassifier(random_state=0)).fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> label, probability = session.run(None, {"X": X})
    >>> bool((label == model.predict(X)).all())
    True
    >>> bool(abs(probability - model.predict_proba(X)).max() < 1e-6)
    True
    """
    for name in ("onnx", "skl2onnx"):
        require(name, "onnx")
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    check_is_fitted(model)
    register_converters()
    model = _steps_before(model)
    without = [without] if isinstance(without, str) else list(without)
    model = _without(model, without) if without else model
    kinds = {"number": DoubleTensorType, "text": StringTensorType}
    fed = _inputs(model)
    inputs = [(name, kinds[kind]([None, width])) for name, kind, width, _ in fed]
    options = {id(model): {"zipmap": False}} if hasattr(model, "classes_") else None
    try:
        graph = skl2onnx.convert_sklearn(
            model,
            initial_types=inputs,
            options=options,
            target_opset={"": OPSET, "ai.onnx.ml": 3},
            custom_conversion_functions={SimpleImputer: _converter(_of_imputer)},
        )
    except NotConvertible:
        raise
    except Exception as error:  # whatever a converter of somebody else does not know
        text = " ".join(str(error).split())[:300] or type(error).__name__
        raise NotConvertible(f"the model has no ONNX form: {text}") from error
    graph.producer_name, graph.producer_version = "robell", __version__
    how_fed = {}  # skl2onnx puts _ for signs that no identifier has
    for given, (name, _, _, how) in zip(graph.graph.input, fed, strict=True):
        how_fed[given.name] = how if given.name == name else f"column {said(name)}: {how}"
    described = {
        "version": __version__,
        "target": target,
        "classes": plain_value(getattr(model, "classes_", np.empty(0)).tolist()),
        "threshold": threshold_of(model),
        "inputs": how_fed,
        "without": without,
    }
    for name, value in described.items():
        text = json.dumps(value, ensure_ascii=False)
        graph.metadata_props.add(key=f"robell.{name}", value=text)
    return graph


def _steps_before(model):
    """Return a pipeline in which the steps within NoiseRobustClassifier stand before it."""
    *steps, (name, last) = model.steps if isinstance(model, Pipeline) else [("model", model)]
    inside = getattr(last, "estimator_", None)
    if type_name(last) != ROBUST or not isinstance(inside, Pipeline):
        return model
    *before, (_, classifier) = inside.steps
    around = copy.copy(last)
    around.estimator_ = classifier
    moved = [(f"{name}-{place}", step) for place, (_, step) in enumerate(before)]
    return Pipeline([*steps, *moved, (name, around)])


def _without(model, names):
    """Return a pipeline whose encoder holds some of its columns at their usual values."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    known = [plan["name"] for plan in first.plans_] if isinstance(first, TableEncoder) else []
    for name in names:
        if name not in known:
            near = did_you_mean(name, known, said)
            raise NotConvertible(f"the model reads no column {said(name)} that could be held{near}")
    encoder = copy.copy(first)
    encoder.held_ = tuple(names)
    if not isinstance(model, Pipeline):
        return encoder
    return Pipeline([(model.steps[0][0], encoder), *model.steps[1:]])


def _inputs(model):
    """Return name, kind and width of every input of the graph, and how it is fed."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if isinstance(first, TableEncoder):
        columns = encoder_inputs(first)
        if hasattr(first, "feature_names_in_") or any(kind == "text" for _, kind, _ in columns):
            return [(name, kind, 1, how) for name, kind, how in columns]
    if isinstance(first, ColumnTransformer) and hasattr(first, "feature_names_in_"):
        fed = {"number": "a number of double precision", "text": "the text"}
        return [(str(name), kind, 1, fed[kind]) for name, kind in _kinds_of(first).items()]
    width, names = int(model.n_features_in_), getattr(model, "feature_names_in_", ())
    order = f", in this order: {', '.join(map(str, names))}" if len(names) else ""
    return [("X", "number", width, f"rows of {width} numbers of double precision{order}")]


def _kinds_of(transformer):
    """Return the columns that a ColumnTransformer uses: texts where categories are texts."""
    kinds = {}
    names = transformer.feature_names_in_
    for _, part, columns in transformer.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        first = part.steps[0][1] if isinstance(part, Pipeline) else part
        categories = getattr(first, "categories_", ())
        is_text = any(np.asarray(one).dtype.kind in "OU" for one in categories)
        chosen = [columns] if isinstance(columns, str) else columns
        for column in chosen if not isinstance(chosen, slice) else names[chosen]:
            name = column if isinstance(column, str) else names[column]
            kinds[name] = "text" if is_text else "number"
    return {name: kinds[name] for name in names if name in kinds}


def _of_imputer(graph, operator, inputs):
    """Fill gaps in double precision; skl2onnx's own converter does it in single."""
    imputer = operator.raw_operator
    statistics = np.asarray(imputer.statistics_)
    is_nan = isinstance(imputer.missing_values, float) and np.isnan(imputer.missing_values)
    if imputer.add_indicator or not is_nan or statistics.dtype.kind != "f":
        raise NotConvertible("SimpleImputer has an ONNX form for numbers and NaN alone")
    X = graph.rows_of(inputs)
    known = np.flatnonzero(~np.isnan(statistics))
    if len(known) < len(statistics) and not imputer.keep_empty_features:
        X, statistics = graph.columns(X, known), statistics[known]
    return [graph.node("Where", graph.node("IsNaN", X), statistics[None, :], X)]


def is_graph_file(path):
    """Say whether a file looks like a graph that was written here: its producer stands in front."""
    with open(path, "rb") as file:
        return b"robell" in file.read(64)
