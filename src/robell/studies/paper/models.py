"""The eight models of the study: a pipeline and a grid each."""

from __future__ import annotations

from functools import partial

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from robell.models.complex_valued import ComplexRVFLClassifier
from robell.models.granular_ball import GranularBallRVFLClassifier
from robell.models.neurofuzzy import NeuroFuzzyRVFLClassifier
from robell.models.robell import RoBellRVFLClassifier
from robell.models.rvfl import ELMClassifier, RVFLClassifier
from robell.search import paper_grid

FACTORIES = {
    "rvfl": RVFLClassifier,
    "elm": ELMClassifier,
    "nf": NeuroFuzzyRVFLClassifier,
    "crvfl": ComplexRVFLClassifier,
    "acrvfl": partial(ComplexRVFLClassifier, augmented=True),
    "gb": GranularBallRVFLClassifier,
    "gegb": partial(GranularBallRVFLClassifier, graph="lfda"),
    "robell": RoBellRVFLClassifier,
}
# The paper gives no ranges for GE-GB-RVFL; these are the two purities of the public demonstrations.
GEGB_PURITIES = [0.925, 0.985]


def study_pipeline(model, seed, **parameters):
    """Return a scaler and one of the eight models behind it.

    Parameters
    ----------
    model : str
        A key of the eight models.
    seed : int
        Seed of the random layer.
    **parameters : dict
        Parameters of the model.

    Returns
    -------
    pipeline : Pipeline
        Steps ``scale`` (fitted to the training rows, erratum E22) and ``model``.

    Examples
    --------
    >>> from robell.studies.paper.models import study_pipeline
    >>> study_pipeline("gegb", 0)["model"].graph
    'lfda'
    """
    estimator = FACTORIES[model](random_state=seed, calibrate=False, **parameters)
    return Pipeline([("scale", StandardScaler()), ("model", estimator)])


def study_grid(model):
    """Return the ranges a model is tuned over, for the pipeline of :func:`study_pipeline`.

    The paper's, as :func:`robell.paper_grid` gives them; for GE-GB-RVFL, whose ranges the paper
    does not give, all graph weights and the two purities of the public demonstrations.

    Parameters
    ----------
    model : str
        A key of the eight models.

    Returns
    -------
    grid : dict of str -> list
        A ``param_grid``.

    Examples
    --------
    >>> from robell.studies.paper.models import study_grid
    >>> study_grid("gegb")["model__purity"]
    [0.925, 0.985]
    """
    grid = paper_grid(model, prefix="model__")
    if model == "gegb":
        grid["model__purity"] = GEGB_PURITIES
    return grid
