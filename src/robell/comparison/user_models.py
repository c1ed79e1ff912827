"""The models to compare: names of ours and of known peers, estimators, factories, with a grid."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import os
import sys
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from robell._tools.pipelines import last_step
from robell._tools.text import did_you_mean, unique
from robell.comparison import family as paper
from robell.comparison import peers
from robell.comparison.identity import identity_of
from robell.comparison.store import StudyError
from robell.labels.robust import NoiseRobustClassifier

try:
    from joblib.externals import cloudpickle  # joblib carried its own before 1.6
except ImportError:
    import cloudpickle

# Members that are RVFL where a table has no privileged columns and no views.
IN_DISGUISE = {
    "rvfl_plus": "RVFL+ without privileged columns, which is RVFL",
    "multiview": "MvRVFL of one view, which is RVFL",
}
NAMES = tuple(dict.fromkeys([*paper.MODELS, *IN_DISGUISE, *peers.MODELS]))
TUNING = ("paper", "nested")  # protocols under which the paper's models are tuned over its grids
AS_GIVEN, TUNED = "as given", "tuned over its grid"
AS_IN_STUDY = "untuned, as in the study of wrong labels"
DEFAULT = ("noise_robust", "rvfl", "robell", "logistic", "svc", "forest", "hist_gradient")
# Of the few balls, leave-one-out is no guide to the penalty; a graph has seen the label left out.
PENALTY_AS_GIVEN = ("gb", "gegb", "geifrvfl")


@dataclass(frozen=True)
class Spec:
    """One model: what it is called, what tells it from others, and how to make it."""

    name: str
    label: str  # as readers see it
    identity: str  # changes when the model does: its jobs then run again
    about: str  # how it is made, in words
    known: str | None = None  # its name, where it is one of ours or a known peer
    payload: bytes = b""  # else (maker, grid), for processes that may not import it


def read_models(models, protocol):
    """Return the Spec of every model given, by name."""
    models = DEFAULT if models is None else models
    if isinstance(models, str) or hasattr(models, "fit"):
        models = [models]
    named = models.items() if isinstance(models, dict) else ((None, model) for model in models)
    found = [_spec(name if name is None else str(name), model, protocol) for name, model in named]
    if not found:
        raise StudyError("there is no model to compare")
    found = list(dict.fromkeys(found))
    names = unique([spec.name for spec in found])
    # The first two head columns of tables, which must all differ.
    labels = unique(["Set", "Model", *(spec.label for spec in found)])[2:]
    return {
        name: replace(spec, name=name, label=label)
        for name, label, spec in zip(names, labels, found, strict=True)
    }


def _spec(name, value, protocol):
    """Return one model; it must be a known name, module:callable, estimator, factory or a pair."""
    if isinstance(value, str) and ":" not in value:
        return _known(name, value, protocol)
    maker, grid = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
    if isinstance(maker, str) and ":" in maker:
        maker, name = _imported(maker), name or maker.rpartition(":")[2]
        maker, grid = maker if isinstance(maker, tuple) and len(maker) == 2 else (maker, grid)
    if not callable(maker) and not (hasattr(maker, "fit") and hasattr(maker, "predict")):
        raise StudyError(
            f"a model must be a name, an estimator or a function that makes one, alone or in a "
            f"pair with its grid; got {str(value)[:60]!r}"
        )
    name = name or _name_of(maker)
    try:
        payload = cloudpickle.dumps((maker, grid))
    except Exception as error:  # pickling runs the model's own code
        raise StudyError(f"model {name!r} cannot be sent to worker processes: {error}") from error
    what = AS_GIVEN if grid is None else TUNED
    return Spec(name, name, identity_of((maker, grid)), what, None, payload)


def _known(name, key, protocol):
    if key not in NAMES:
        near = did_you_mean(key, NAMES, cutoff=0.4)
        near = near or f"; there are {', '.join(NAMES)}, and module:callable"
        raise StudyError(f"there is no model {key!r}{near}")
    label, about, _ = _entry(key, protocol)
    if about == AS_IN_STUDY:
        peers.require_packages([peers.MODELS[key]])
    identity = key + "".join(peers.revision_of(peers.REVISIONS, key, of) for of in (False, True))
    return Spec(name or key, name or label, identity, about, key)


def _entry(key, protocol):
    """Return what a known model is called, how it is made, and (seed, labels) -> it and a grid."""
    if protocol in TUNING and key in paper.MODELS:
        label, about = paper.MODELS[key].label, "tuned over the paper's grid"

        def make(seed, y):
            return paper.study_pipeline(key, seed), paper.study_grid(key)
    elif key in peers.MODELS:
        label, about = peers.MODELS[key].short, AS_IN_STUDY

        def make(seed, y):
            return peers.MODELS[key].make(seed, np.asarray(y)), None
    else:
        label, about = IN_DISGUISE.get(key) or paper.MODELS[key].label, "untuned, 203 nodes"

        def make(seed, y):
            wanted = {"n_hidden": peers.N_HIDDEN, "output_bias": True, "random_state": seed}
            wanted |= {} if key in PENALTY_AS_GIVEN else {"C": "loo"}
            estimator = paper.build("rvfl" if key in IN_DISGUISE else key, **wanted)
            return Pipeline([("scale", StandardScaler()), ("model", estimator)]), None

    return label, about, make


def _imported(text):
    """Return what module:callable names; modules of the current folder are found."""
    module, _, attribute = text.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
    except Exception as error:  # importing runs the module's own code
        raise StudyError(f"model {text!r} cannot be imported: {error}") from error


def _name_of(maker):
    if isinstance(maker, functools.partial):
        maker = maker.func
    maker = last_step(maker)
    name = getattr(maker, "__name__", type(maker).__name__)
    return "model" if name == "<lambda>" else name


# -- making --------------------------------------------------------------------------------


def make(spec, protocol, seed, y):
    """Return a model that is not fitted yet, and its grid or None."""
    if spec.known is None:
        maker, grid = cloudpickle.loads(spec.payload)
        return _estimator_of(maker, grid, seed)
    return _entry(spec.known, protocol)[2](seed, y)


def made_robust(model, seed, parameters=None):
    """Return NoiseRobustClassifier around a name, estimator or factory; else raise ValueError."""
    try:
        if isinstance(model, str) and ":" not in model:
            if model not in peers.BASES:
                near = did_you_mean(model, peers.BASES, cutoff=0.4)
                near = near or f"; there are {', '.join(peers.BASES)}"
                raise StudyError(f"there is no classifier {model!r} to be made robust{near}")
            estimator = _plain(peers.MODELS[model].make(seed, np.arange(2)))
        else:
            maker = _imported(model) if isinstance(model, str) else model
            estimator, grid = _estimator_of(maker, None, seed)
            if grid is not None:
                raise StudyError("a model to be made robust takes no grid")
    except (ImportError, StudyError) as error:
        raise (ValueError(str(error)) if isinstance(error, StudyError) else error) from error
    except Exception as error:  # the user's own code
        raise ValueError(f"no classifier can be made of {str(model)[:60]!r}: {error}") from error
    last = last_step(estimator)
    if parameters:
        known = last.get_params()
        if unknown := next((name for name in parameters if name not in known), None):
            near = did_you_mean(unknown, known, cutoff=0.4)
            raise ValueError(f"{type(last).__name__} has no parameter {unknown!r}{near}")
        last.set_params(**parameters)
    return NoiseRobustClassifier(estimator, random_state=seed)


def _plain(estimator):
    """Return a classifier without weights of its classes, which it will be given."""
    last = last_step(estimator)
    none = {"class_weight": None, "auto_class_weights": "None"}  # the latter as CatBoost calls it
    last.set_params(**{name: none[name] for name in none if name in last.get_params()})
    return estimator


def _estimator_of(maker, grid, seed):
    """Return the estimator that is given or made, its open seeds set, and its grid or None."""
    made = _made(maker, seed)
    estimator, grid = made if isinstance(made, tuple) else (made, grid)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise TypeError(f"it makes {type(estimator).__name__}, which is no classifier")
    known = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    open_states = [
        name
        for name, value in known.items()
        if name.rpartition("__")[2] == "random_state" and value is None
    ]
    if open_states:  # so that numbers come out the same again
        estimator.set_params(**dict.fromkeys(open_states, seed))
    return estimator, grid


def _made(maker, seed):
    """Return what a factory makes, of a seed if it takes one, or a new or copied estimator."""
    if isinstance(maker, type):
        return maker()
    if hasattr(maker, "fit"):
        return clone(maker) if hasattr(maker, "get_params") else copy.deepcopy(maker)
    try:
        known = inspect.signature(maker).parameters
    except ValueError:  # written in C
        return maker(seed)
    fixed = getattr(maker, "keywords", {})  # of functools.partial
    for name in ("seed", "random_state"):
        if name in known and name not in fixed and known[name].kind != known[name].POSITIONAL_ONLY:
            return maker(**{name: seed})
    # An argument with a default is a choice of its own, and no seed.
    needed = [one.kind.name for one in known.values() if one.default is one.empty]
    return maker(seed) if any("POSITIONAL" in kind for kind in needed) else maker()
