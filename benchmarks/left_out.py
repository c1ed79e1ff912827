"""How honest left-out scores are: against refits without the row, and as probabilities of new rows.

    python benchmarks/left_out.py
    python benchmarks/left_out.py --models HuberRVFLClassifier --tables 5
    python benchmarks/left_out.py --models NoiseRobustRVFLClassifier --noise 0.2

Overlapping generated tables of 150 rows (``--rows``), 40 % of them of the second class: two
Gaussians, ``--apart`` deviations apart in one of five columns, with a share ``--noise`` of the
training labels wrong. Every classifier of the family, in its forms, prints the area under the ROC
curve (AUC) of the scores that its probabilities are fitted to, less that of the scores of models
really fitted without each row, everything made again: the mean over ten tables, with its standard
error. Then what the log-odds of 20,000 new rows ought to be multiplied by, the slope of a logistic
regression of their true labels: the mean over 20 tables; 1 is calibrated.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from unittest.mock import patch

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

import robell
from robell.models import _estimator
from robell.noise import flip_uniformly

COLUMNS = 5
N_NEW, N_REFITTED, N_TABLES = 20_000, 10, 20
LARGEST_ODDS = 1e-12  # probabilities nearer to 0 or 1 are taken for this

# Every classifier of the family, and the forms of it that leave rows out in another way.
FORMS = {
    "BaseRVFLClassifier": [{}],
    "RVFLClassifier": [{}, {"class_weight": "balanced"}],
    "ELMClassifier": [{}],
    "RoBellRVFLClassifier": [
        {},
        {"kernel_width": "scale"},
        {"kernel_width": "scale", "class_weight": None},
        {"kernel_width": "scale", "rho": 0.3},
    ],
    "NeuroFuzzyRVFLClassifier": [{}],
    "ComplexRVFLClassifier": [{}, {"augmented": True}],
    "GranularBallRVFLClassifier": [{}, {"graph": "lda"}],
    "IntuitionisticFuzzyRVFLClassifier": [
        {},
        {"score_power": 1},
        {"score_power": 1, "class_weight": "ratio", "graph": "lda"},
    ],
    "HuberRVFLClassifier": [{}, {"center": "median"}, {"threshold": 0.5}],
    "VarianceRVFLClassifier": [{}, {"variance": "total"}],
    "RVFLPlusClassifier": [{}],
    "KernelRVFLPlusClassifier": [{}],
    "MultiViewRVFLClassifier": [
        {"views": [slice(0, 2), slice(2, 5)]},
        {"views": [slice(0, 2), slice(2, 5)], "graph": "lda"},
    ],
    "DeepRVFLClassifier": [{}, {"combine": "concat"}],
    "NoiseRobustRVFLClassifier": [{"n_rounds": 0}, {}],
}
PRIVILEGED = ("RVFLPlusClassifier", "KernelRVFLPlusClassifier")


def sizes(n_rows):
    """Return the sizes of the two classes."""
    return [n_rows - 2 * n_rows // 5, 2 * n_rows // 5]


def draw(seed, sizes, apart):
    """Return rows of two overlapping classes, and columns that only training rows have."""
    rng, y = np.random.default_rng(seed), np.repeat([0, 1], sizes)
    X = rng.normal(size=(len(y), COLUMNS))
    X[:, 0] += apart * y
    return X, y, X[:, :2] + rng.normal(size=(len(y), 2))


def training(seed, n_rows, apart, noise):
    """Return a training table, some of its labels wrong."""
    X, y, Z = draw(seed, sizes(n_rows), apart)
    return X, flip_uniformly(y, noise, random_state=seed)[0], Z


def fitted(model, X, y, Z):
    """Return a model fitted to rows, with the further columns where it takes them."""
    more = {"privileged": Z} if type(model).__name__ in PRIVILEGED else {}
    return clone(model).fit(X, y, **more)


def difference(scores):
    """Return the score of the second class less the first's."""
    return scores[:, 1] - scores[:, 0]


def calibration_scores(model, X, y, Z):
    """Return the scores of the training rows that the probabilities are fitted to."""
    found = []

    def keep(scores, *arguments, then):
        found.append(difference(np.asarray(scores)))
        return then(scores, *arguments)

    robust = robell.NoiseRobustRVFLClassifier
    decide, calibrate = robust._fit_decision, partial(keep, then=_estimator.fit_calibration)
    with (
        patch.object(_estimator, "fit_calibration", calibrate),
        patch.object(
            robust,
            "_fit_decision",
            lambda self, scores, *rest: keep(scores, *rest, then=partial(decide, self)),
        ),
    ):
        fitted(model, X, y, Z)
    return found[-1]


def refitted_scores(model, X, y, Z):
    """Return the score of every row by a model fitted to all others."""
    scores = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        one = fitted(model, X[rest], y[rest], Z[rest])
        scores[i] = difference(np.asarray(one._class_scores(X[i : i + 1])))[0]
    return scores


def optimism(model, seed, *kind):
    """Return by how much the AUC of the calibration's scores exceeds that of refits."""
    X, y, Z = training(seed, *kind)
    held = calibration_scores(model, X, y, Z)
    if "calibrate" in model.get_params():
        model = clone(model).set_params(calibrate=False)
    return roc_auc_score(y, held) - roc_auc_score(y, refitted_scores(model, X, y, Z))


def slope(model, seed, n_rows, apart, noise):
    """Return what the log-odds of new rows ought to be multiplied by."""
    X, y, Z = training(1000 + seed, n_rows, apart, noise)
    X_new, y_new, _ = draw(2000 + seed, sizes(N_NEW), apart)
    P = fitted(model, X, y, Z).predict_proba(X_new)[:, 1]
    odds = logit(np.clip(P, LARGEST_ODDS, 1.0 - LARGEST_ODDS))
    return float(LogisticRegression(C=np.inf).fit(odds[:, None], y_new).coef_[0, 0])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--refitted", type=int, default=N_REFITTED, help="tables of refits")
    parser.add_argument("--tables", type=int, default=N_TABLES, help="tables of slopes")
    parser.add_argument("--rows", type=int, default=150, help="of a table")
    parser.add_argument("--apart", type=float, default=1.5, help="1 overlaps more")
    parser.add_argument("--noise", type=float, default=0.0, help="share of wrong labels")
    options = parser.parse_args()
    kind = options.rows, options.apart, options.noise
    warnings.simplefilter("ignore")
    print("| classifier | held less refitted AUC | standard error | slope | standard error |")
    print("|---|---|---|---|---|", flush=True)
    for name in options.models:
        for form in FORMS[name]:
            model = getattr(robell, name)(**form)
            if "random_state" in model.get_params():
                model.set_params(random_state=0)
            with threadpool_limits(1):
                gaps = [optimism(model, seed, *kind) for seed in range(options.refitted)]
                slopes = [slope(model, seed, *kind) for seed in range(options.tables)]
            said = ", ".join(f"{key}={value!r}" for key, value in form.items())
            cells = [f"`{name}({said})`"]
            for values in (gaps, slopes):
                error = np.std(values, ddof=1) / np.sqrt(len(values)) if values[1:] else np.nan
                cells += [f"{np.mean(values):.3f}", f"{error:.3f}"] if values else ["", ""]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
