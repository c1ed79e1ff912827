"""Make a call with odd inputs, and judge what came of it.

Allowed are a finite, consistent answer, or a ValueError or TypeError of one line that somebody
wrote for the reader: by a ``raise`` of robell or scikit-learn. Everything else is a failure, and
is given a kind that stays the same when code moves.
"""

from __future__ import annotations

import linecache
import re
import warnings
from dataclasses import dataclass

import numpy as np
from odd_inputs import LABELS, inputs_of, value_of

REFUSALS = (ValueError, TypeError)
# Kinds of ValueError that come from deep inside, whatever they say.
RAW = ("LinAlgError", "UnicodeDecodeError", "UnicodeEncodeError", "JSONDecodeError", "ArrowInvalid")
MISSING_LABELS = {
    name for name in LABELS if re.search(r"\bNaN\b|\bNone\b|\bNaT\b|\bNA\b", name)
}  # what is odd about these is that some labels are missing


@dataclass(frozen=True)
class Verdict:
    """What came of a case: "answer", "refusal" or "failure", and of which kind."""

    outcome: str
    kind: str = ""
    detail: str = ""


class Inconsistent(AssertionError):
    """An answer that contradicts itself or the input."""


def judge_call(call):
    """Make the call, and say what came of it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            _make(call)
        except Inconsistent as error:
            return Verdict("failure", f"answer: {error}")
        except Exception as error:
            return judge_error(error)
    return Verdict("answer")


def judge_error(error):
    """Say whether an exception is a refusal in one line, or a failure."""
    name, text = type(error).__name__, str(error)
    where = _where(error)
    kind = f"{name}: {_plain(text)}"
    if not isinstance(error, REFUSALS) or name in RAW or name.startswith("Arrow"):
        return Verdict("failure", kind, where)
    # scikit-learn's own functions, before they call us, may say what they like.
    of_ours = where and not text.startswith("The feature names should match")
    if "\n" in text.strip() and of_ours:
        return Verdict("failure", f"several lines: {kind}", where)
    if not text.strip():
        return Verdict("failure", f"no words: {kind}", where)
    if not _was_written_for_readers(error):
        return Verdict("failure", f"raw {kind}", where)
    return Verdict("refusal", kind, where)


def _frames(error):
    frames, step = [], error.__traceback__
    while step is not None:
        frames.append((step.tb_frame.f_code.co_filename, step.tb_lineno, step.tb_frame))
        step = step.tb_next
    return frames


def _was_written_for_readers(error):
    """Say whether a ``raise`` of robell or scikit-learn, or scikit-learn's checks, said it."""
    frames = _frames(error)
    file, line, _ = frames[-1]
    of_ours = "/robell/" in file or "/sklearn/" in file
    if of_ours and linecache.getline(file, line).strip().startswith("raise"):
        return True
    return any("/sklearn/utils/" in name for name, _, _ in frames)


def _where(error):
    """Return the deepest place of the traceback that is in robell."""
    own = [frame for frame in _frames(error) if "/robell/" in frame[0]]
    if not own:
        return ""
    file, line, frame = own[-1]
    return f"{file.split('/robell/', 1)[1]}:{line} {frame.f_code.co_name}"


def _plain(text):
    """Return a message without what differs from case to case."""
    text = re.sub(r"0x[0-9a-f]+|[-+]?\d[\d.,]*(?:e[-+]?\d+)?", "N", text.strip().splitlines()[0])
    text = re.sub(r"'[^']{15,}'|\"[^\"]{15,}\"", "'...'", text)
    return text[:90]


# -- calls -----------------------------------------------------------------------------


def _make(call):
    X, y, weight, new = inputs_of(call)
    parameters = {name: value_of(text) for name, text in call.parameters}
    if call.model == "robell":
        FUNCTIONS[call.action](call, X, y, weight, parameters)
        return
    import robell

    classes = parameters.pop("classes", [0, 1])
    parameters = {"random_state": 0, "n_hidden": 15, **parameters}
    model = getattr(robell, call.model)(**parameters)
    if call.action == "fit and predict":
        model.fit(X, y, sample_weight=weight)
        _require_no_missing_label(call)
        check_model(model, X, y, weight)
        check_predictions(model, new)
    elif call.action == "partial_fit":
        model.partial_fit(X, y, classes=classes, sample_weight=weight)
        _solved(model)
        check_model(model, X, y, weight, streamed=True)
        check_predictions(model, new)
        model.partial_fit(new, y)
        _solved(model)
        check_predictions(model, new)
    elif call.action == "cross-validation":
        from sklearn.model_selection import cross_val_score

        scores = cross_val_score(model, X, y, cv=3, error_score="raise")
        _require_finite(scores, "cross-validated scores")
    else:
        grid = {"n_rounds": [0, 1]} if "NoiseRobust" in call.model else {"C": [0.1, 10.0]}
        search = robell.RVFLGridSearchCV(model, grid, cv=2, error_score="raise").fit(X, y)
        _require_finite(search.cv_results_["mean_test_score"], "scores of the search")
        check_predictions(search, new)


def _solved(model):
    """Touch what is solved on demand, as inspection of a model does."""
    try:
        hasattr(model, "coef_")
    except Exception as error:
        raise Inconsistent(f"hasattr(model, 'coef_') raises {type(error).__name__}") from error


def _require_no_missing_label(call):
    if call.labels in MISSING_LABELS and call.weights == "none" and call.n_rows > 7:
        raise Inconsistent(f"labels with missing values ({call.labels}) are accepted")


def _require_finite(values, what):
    if not np.isfinite(np.asarray(values, dtype=complex)).all():
        raise Inconsistent(f"{what} hold NaN or infinity")


def check_model(model, X, y, weight, streamed=False):
    """Raise where what was learnt is not finite, or the classes are not those given."""
    for name, value in vars(model).items():
        is_learnt = name.endswith("_") and not name.startswith("_") and name != "classes_"
        if is_learnt and isinstance(value, np.ndarray | float):
            of_rows = np.shape(value)[:1] == np.shape(weight)  # may be NaN where the weight is 0
            present = np.asarray(weight, dtype=float) > 0 if of_rows and weight is not None else ...
            _require_finite_numbers(np.asarray(value)[present], name)
    given = list(np.asarray(y, dtype=object).ravel())
    if any(not any(_same(label, other) for other in given[:200]) for label in model.classes_[:5]):
        if streamed:
            return
        raise Inconsistent("classes_ holds what is not among the labels")
    if weight is None and not streamed and len(model.classes_) != len(set(given)):
        raise Inconsistent("labels that differ have become one class")


def _require_finite_numbers(value, name):
    if name == "C_" and np.all(value == np.inf):
        return  # a penalty that may be asked for: least squares
    if np.asarray(value).dtype.kind in "fc":
        _require_finite(value, f"the attribute {name}")


def _same(label, other):
    try:
        return bool(label == other)
    except (TypeError, ValueError):
        return False


def check_predictions(model, new):
    """Raise where predictions are not classes, or do not agree with probabilities."""
    predicted = model.predict(new)
    known = {*model.classes_.tolist()}
    if any(label not in known for label in predicted.tolist()):
        raise Inconsistent("predictions are not among the classes")
    _require_finite(model.decision_function(new), "the scores")
    if not hasattr(model, "predict_proba"):
        return
    probability = model.predict_proba(new)
    _require_finite(probability, "probabilities")
    if probability.shape != (len(predicted), len(model.classes_)):
        raise Inconsistent("probabilities have the wrong shape")
    if (probability < 0).any() or not np.allclose(probability.sum(axis=1), 1.0):
        raise Inconsistent("probabilities do not add up to one")
    places = [model.classes_.tolist().index(label) for label in predicted.tolist()]
    probability = probability / _thresholds(model)
    chosen = probability[np.arange(len(places)), places]
    if (chosen < probability.max(axis=1) * (1.0 - 1e-9) - 1e-9).any():
        raise Inconsistent("the predicted class is not the likeliest, by its threshold")


def _thresholds(model):
    """Return what probabilities are compared with: equal numbers, unless the model has its own."""
    model = getattr(model, "best_estimator_", model)
    model = model[-1] if hasattr(model, "steps") else model
    if hasattr(model, "thresholds_"):
        return model.thresholds_
    cut = getattr(model, "threshold_", 0.5)
    return np.clip([1.0 - cut, cut], 1e-300, None) if hasattr(model, "threshold_") else 1.0


def _find_label_issues(call, X, y, weight, parameters):
    import robell

    found = robell.find_label_issues(
        X, y, sample_weight=weight, **{"random_state": 0, **parameters}
    )
    _require_no_missing_label(call)
    for name in ("quality", "sample_quality", "noise_matrix"):
        _require_finite(getattr(found, name), f"find_label_issues: {name}")
    str(found)
    found.to_frame()


def _membership(call, X, y, weight, parameters):
    import robell

    found = robell.pw_gbell_membership(X, y, sample_weight=weight, **parameters)
    found = np.asarray(found)
    _require_finite(found, "memberships")
    if ((found < 0) | (found > 1 + 1e-9)).any():
        raise Inconsistent("memberships are not between 0 and 1")
    _require_no_missing_label(call)


def _audit_frame(call, X, y, weight, parameters):
    import pandas

    import robell

    try:
        frame = X if isinstance(X, pandas.DataFrame) else pandas.DataFrame(X)
        frame = frame.assign(y=pandas.Series(list(y), dtype=object))
    except Exception:
        return  # pandas itself does not take it
    result = robell.audit(frame, "y", **parameters)
    for name in ("quality", "probability", "noise_matrix", "noise_rate", "separation"):
        _require_finite(getattr(result, name), f"audit: {name}")


def _flip_labels(call, X, y, weight, parameters):
    from robell import noise

    noisy, flipped = noise.flip_labels(y, 0.2, random_state=0)
    if len(noisy) != len(flipped):
        raise Inconsistent("flip_labels gives two lengths")


def _g_mean(call, X, y, weight, parameters):
    from robell import metrics

    _require_finite(metrics.g_mean_score(y, y, sample_weight=weight), "the g-mean")


FUNCTIONS = {
    "find_label_issues": _find_label_issues,
    "pw_gbell_membership": _membership,
    "audit a frame": _audit_frame,
    "flip labels": _flip_labels,
    "g-mean": _g_mean,
}
