"""GRVFL-MV and MvRVFL: one network for each view of the columns, their errors coupled."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from robell._core.layers.features import design_matrix, draw_random_layer, hidden_output
from robell._core.ridge.solve import Blocks, InBlocks, System
from robell._tools.text import did_you_mean
from robell.models._estimator import BaseRVFLClassifier, Capabilities
from robell.models._partial_fit import StreamingMixin


def _without_graph(model):
    """Say whether partial_fit exists, or raise the reason why it does not."""
    if model.graph is not None:
        raise AttributeError("a graph is made of all rows at once: call fit, or give graph=None")
    return True


class MultiViewRVFLClassifier(StreamingMixin, BaseRVFLClassifier):
    """MvRVFL, and GRVFL-MV with a ``graph``: a network for each view of the columns.

    A view is a part of the columns that belong together: the sensors of one device, the questions
    of one form. Each has a random layer and output weights of its own, and the score is their
    mean. ``coupling`` says how far the networks make up for each other's errors: 0 fits each alone
    (late fusion), 1 all as one network (early fusion, exactly), and anything between is between.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes of every view; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLClassifier`; ``"loo"`` not with a ``graph``, which
        has seen the label of the row left out.
    views : list of selectors or None, default=None
        The columns of each view, as in ``ColumnTransformer``: a slice, places, a mask, names, or
        a function of X that returns one of these. Views may overlap; every column must be in one.
        None is one view of all columns, which is :class:`RVFLClassifier`.
    coupling : float, default=0.5
        How far errors of the views are coupled, from 0 to 1.
    graph : {"lda", "lfda"} or None, default=None
        Graph embedding in every view, as in :class:`GranularBallRVFLClassifier`, of samples; the
        published choice is ``"lfda"``. It takes time with the square of the number of rows.
    graph_weight : float, default=1.0
        Weight of the graph term against the size of the output weights.
    output_bias : bool, default=False
        Whether a constant enters the output layer of every view.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class, as in :class:`RVFLClassifier`.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``, with a ``graph`` on folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layers. Each view has a stream of its own, by its place.

    Attributes
    ----------
    view_columns_ : list of ndarray
        Places of the columns of every view.
    hidden_weights_ : list of ndarray of shape (n_columns_of_view, n_hidden)
        Weights of the hidden layer of every view.
    hidden_bias_ : list of ndarray of shape (n_hidden,)
        Their biases.
    coef_ : ndarray of shape (n_columns, n_classes)
        Output weights, view by view: those of its columns, then of its nodes. Divided by the
        number of views, so that the sum over all columns is the score.
    intercept_ : ndarray of shape (n_classes,)
        Output bias; zeros unless ``output_bias``.
    solver_ : {"primal", "dual", "svd", "gram", "eigen", "lu"}
        How the system was solved, as in :class:`RVFLClassifier`; with a graph by LU.
    classes_, C_, calibration_slope_, calibration_offsets_, n_features_in_, feature_names_in_ : \
see RVFLClassifier
        As in :class:`RVFLClassifier`.

    Notes
    -----
    The objective is ``½Σ|β_v|² + C/2 Σ w_i [(1-κ) Σ_v |e_iv|² + κ |Σ_v e_iv|²]``, with the errors
    e_iv of view v and κ the coupling. This parametrisation, for any number of views, is ours: the
    paper has two views and a free coupling ρ = κC, for which half of its grid is no minimum but a
    saddle (ρ > C). The release reports the best of first view, second view and both by their
    accuracy on the test rows; here the score is always that of all views. The graph term is the
    published one, which is no penalty: see ``docs/guide/family_options.md``.

    References
    ----------
    M. Tanveer, R. K. Sharma, M. Sajid, A. Quadir, "GRVFL-MV: Graph random vector functional link
    based on multi-view learning", Information Sciences (2025) 121947, arXiv 2409.04743. Without
    a graph: MvRVFL, arXiv 2409.02588.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from robell import MultiViewRVFLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)  # means, errors and worst values of ten features
    >>> views = [slice(0, 10), slice(10, 20), slice(20, 30)]
    >>> model = MultiViewRVFLClassifier(views=views, random_state=0).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.95
    True
    """

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        "views": [list, tuple, None],
        "coupling": [Interval(Real, 0, 1, closed="both")],
        "graph": [StrOptions({"lda", "lfda"}), None],
        "graph_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        views: Any = None,
        coupling: float = 0.5,
        graph: str | None = None,
        graph_weight: float = 1.0,
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.views = views
        self.coupling = coupling
        self.graph = graph
        self.graph_weight = graph_weight
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    _capabilities = Capabilities(streams=True, passes=True, exact_search=True)
    _weight_parameters = ("coupling",)  # of the rows E½ diag(m_1 ... m_V) that a sample has

    @property
    def _columns_per_node(self):
        return len(self.view_columns_)

    def _validate_training(self, X, y):
        checked = super()._validate_training(X, y)
        self._find_views(X)
        return checked

    partial_fit = available_if(_without_graph)(StreamingMixin.partial_fit)

    def _begin(self, seed):
        self._find_views(None)
        return super()._begin(seed)

    def _find_views(self, X):
        names = getattr(self, "feature_names_in_", None)
        views = [slice(None)] if self.views is None else self.views
        self.view_columns_ = columns_of_views(views, X, self.n_features_in_, names)

    def _fit_features(self, rows, seed):
        layers = [
            draw_random_layer(
                len(columns), int(self.n_hidden), float(self.bias_scale), seed, place=place
            )
            for place, columns in enumerate(self.view_columns_)
        ]
        self.hidden_weights_, self.hidden_bias_ = map(list, zip(*layers, strict=True))

    def _features(self, X):
        """Return the rows [1 x_1 h_1 ... 1 x_V h_V]."""
        designs = []
        for columns, U, b in zip(
            self.view_columns_, self.hidden_weights_, self.hidden_bias_, strict=True
        ):
            x = X[:, columns]
            H = hidden_output(x, U, b, self.activation)
            designs.append(design_matrix(x, H, True, self.output_bias))
        return np.hstack(designs)

    def _n_columns(self):
        return self._blocks().columns[-1].stop

    def _blocks(self):
        """Return which columns of the design matrix are a view's."""
        every = int(self.output_bias) + int(self.n_hidden)
        ends = np.cumsum([0, *(len(columns) + every for columns in self.view_columns_)])
        columns = tuple(slice(*pair) for pair in pairwise(ends.tolist()))
        return Blocks(columns, float(self.coupling), np.ones(len(columns)))

    def _system(self, design, T, weights, further_penalty):
        if len(self.view_columns_) == 1:
            return System(design, T, weights, further_penalty)
        return InBlocks(design, T, weights, self._blocks(), further_penalty)

    def _penalty_term(self, M, rows):
        """Return the graph terms of the views, none between them."""
        term = np.zeros((M.shape[1], M.shape[1]))
        for c in self._blocks().columns:
            term[c, c] = super()._penalty_term(M[:, c], rows)
        return term

    def _constants(self):
        """Return the places of the views' constants among the columns."""
        return [c.start for c in self._blocks().columns] if self.output_bias else []

    def _set_output_weights(self, beta):
        places = self._constants()
        self.coef_ = np.delete(beta, places, axis=0)
        self.intercept_ = beta[places].sum(axis=0)

    def _output_weights(self):
        # Which of the constants is the intercept does not matter: all are 1.
        places = self._constants()
        beta = np.zeros((self._n_columns(), len(self.classes_)))
        beta[np.delete(np.arange(len(beta)), places)] = self.coef_
        beta[places[:1]] = self.intercept_
        return beta


def columns_of_views(views, X, n_features, names):
    """Return the places of every view's columns, or raise one line; X is for functions of it."""
    if not len(views):
        raise ValueError("views is empty: give one selector of columns at least, or None")
    found = []
    for place, view in enumerate(views):
        where = f"views[{place}]"
        if callable(view):
            if X is None:
                raise ValueError(
                    f"{where} is a function of the table, and only parts of it are at hand: give "
                    "columns by place or by name"
                )
            view = view(X)
        columns = _columns_of(view, n_features, names, where)
        if not len(columns):
            raise ValueError(
                f"{where} is empty: {view!r} is no column of X (n_features={n_features})"
            )
        found.append(columns)
    unused = np.setdiff1d(np.arange(n_features), np.concatenate(found))
    if len(unused):
        spelt = [str(place) if names is None else repr(names[place]) for place in unused[:5]]
        rest = f" and {len(unused) - 5} more" if len(unused) > 5 else ""
        raise ValueError(
            f"columns {', '.join(spelt)}{rest} are in no view: add them to one, or leave them out "
            "of X"
        )
    return found


def _columns_of(view, n_features, names, where):
    """Return the places of the columns that one selector names."""
    if isinstance(view, slice):
        start, stop = (
            _place_of(bound, names, where) if isinstance(bound, str) else bound
            for bound in (view.start, view.stop)
        )
        if isinstance(view.stop, str):
            stop += 1  # both ends are included where they are names
        return np.arange(n_features)[start : stop : view.step]
    is_list = np.iterable(view) and not isinstance(view, str)
    keys = list(view) if is_list else [view]
    if keys and all(isinstance(key, bool | np.bool_) for key in keys):
        if len(keys) != n_features:
            raise ValueError(f"{where} is a mask of {len(keys)} columns; X has {n_features}")
        return np.flatnonzero(keys)
    if keys and all(isinstance(key, str) for key in keys):
        return np.array([_place_of(key, names, where) for key in keys])
    for key in keys:
        if not isinstance(key, Integral) or isinstance(key, bool):
            raise ValueError(
                f"{where} must be a slice, a mask, or columns by place or by name; got {key!r}"
            )
        if not -n_features <= key < n_features:
            raise ValueError(f"{where} asks for column {key}; X has {n_features}")
    return np.array([int(key) % n_features for key in keys], dtype=np.intp)


def _place_of(name, names, where):
    if names is None:
        raise ValueError(
            f"{where} asks for column {name!r} by its name, and X has no names: give a data frame "
            "(in a pipeline: set_output(transform='pandas')), or columns by place"
        )
    places = np.flatnonzero(np.asarray(names, dtype=object) == name)
    if not len(places):
        raise ValueError(
            f"{where} asks for column {name!r}, which X does not have"
            f"{did_you_mean(name, [str(one) for one in names])}"
        )
    return int(places[0])
