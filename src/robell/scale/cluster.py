"""Fits and predictions on Dask: tables larger than memory, on one machine or on many.

A fit is a few map-reduce passes over the partitions (:mod:`robell.scale.passes`). Every task is
a pure function of a partition, so what a lost worker had done is simply done again, and results
are reduced in the order of the partitions, so the model does not depend on who finished first.
"""

from __future__ import annotations

import math
import queue
import secrets
import sys
import time
import warnings
from contextlib import contextmanager
from functools import partial

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_regressor
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from robell._core.array import is_no_value
from robell._tools.optional import require
from robell._tools.pipelines import last_step
from robell._tools.progress import Progress
from robell.models._validation import ARRAY_CHECKS, one_line_errors
from robell.scale.out_of_core import OutOfCoreFit
from robell.scale.partitions import (
    bundles_of,
    can_be_joined,
    is_array,
    joined,
    match_parts,
    require_dask,
    values_of,
)

FAN_IN = 8  # results reduced by one task
PING_AFTER = 5.0  # seconds without news after which the scheduler is asked whether it is there
PATIENCE = 30.0  # seconds it may take to answer
WITHOUT_WORKERS = 300.0  # seconds a fit waits for a cluster that has no worker


class ClusterError(RuntimeError):
    """The cluster, not the data, made a fit impossible.

    Examples
    --------
    >>> from robell.dask import ClusterError
    >>> try:
    ...     raise ClusterError("the workers are gone")  # as robell.dask.fit would
    ... except ClusterError as error:
    ...     print("start the workers again:", error)
    start the workers again: the workers are gone
    """


def fit(estimator, X, y, client=None, sample_weight=None):
    """Fit an estimator to a Dask array or data frame of any size.

    Memory on each worker is that of a few partitions; what travels are small sums. The model is
    that of a local fit in parts: for RVFL and ELM networks it equals ``fit`` up to
    rounding (probabilities and intervals come from a sample); for ``RoBellRVFLClassifier``
    memberships are read off landmarks and a sample of each class;
    ``NoiseRobustRVFLClassifier`` is fitted here, to a sample of up to 200,000 rows
    (``n_samples_fitted_`` of ``n_samples_seen_``). It does not depend on workers or
    partitions beyond rounding, and for one partitioning not at all.

    Parameters
    ----------
    estimator : RVFLClassifier, ELMClassifier, RoBellRVFLClassifier, NoiseRobustRVFLClassifier, \
RVFLRegressor, ELMRegressor or Pipeline
        It is not changed. A pipeline must end in one of these, and all its other steps must be
        ``StandardScaler``, whose means and variances take one more pass.
    X : dask array or dask data frame of shape (n_samples, n_features)
        Numeric columns without missing values. Sizes of chunks need not be known.
    y : dask array, dask series, dask data frame, str or list of str
        Class labels, or targets of a regressor, cut into partitions as X is; or, for a data
        frame, the name of the column of X that holds them. Several targets are a table of two
        dimensions, or a list of names.
    client : distributed.Client, default=None
        The cluster to work on. By default the current client; where there is none, Dask's own
        scheduler on this machine (threads, unless Dask is configured otherwise).
    sample_weight : dask array or dask series, default=None
        Multiplicity of each row, as in ``fit``; of a pipeline's scalers too.

    Returns
    -------
    fitted : estimator
        A fitted clone, of the class of ``estimator``, which needs Dask no more.

    Raises
    ------
    ValueError
        For rows that cannot be used; it begins with the partition, counted from 0.
    ClusterError
        When the scheduler goes away (found out within about 35 seconds), when there is no worker
        for five minutes, or when workers keep dying on the same partition.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import robell.dask
    >>> from robell import RVFLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), RVFLClassifier(random_state=0))
    >>> in_parts = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    >>> model = robell.dask.fit(model, *in_parts)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    require("dask.array", "dask")
    job = OutOfCoreFit(estimator)
    parts = match_parts(X, y, sample_weight, is_regressor(job.classifier))
    client = _current_client() if client is None else client
    if client is not None and client.asynchronous:
        raise TypeError("robell.dask.fit needs a synchronous client (asynchronous=False)")
    bundles = bundles_of(parts, _n_threads(client))
    for step in job.passes():
        step.finish(_run_pass(client, step, parts, bundles, job.classifier))
    return job.estimator(parts.names)


# -- tasks, which run on workers -------------------------------------------------------


def _map_part(step, *part, number, names, classifier):
    """Return a pass's result of one partition; errors say which."""
    part = part[0] if len(part) == 1 else part
    with _errors_of(number):
        return step.map(*_rows_of(part, names, classifier))


@contextmanager
def _errors_of(first, last=None):
    """Let errors say of which partitions they are."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        where = _called(first, first if last is None else last)
        raise ValueError(f"{where}: {_one_line(error)}") from error


def _rows_of(part, names, classifier):
    """Return rows, labels and weights of a partition as arrays."""
    X, y, *weight = part
    for what, values in zip(("y", "sample_weight"), (y, *weight), strict=False):
        if len(values) != len(X):
            raise ValueError(f"X has {len(X)} rows and {what} {len(values)}")
    return [_as_array(X, names, classifier), _as_labels(y), *map(np.asarray, weight)]


def _map_bundle(step, *given, bundle, names, classifier):
    """Return a pass's result of several partitions, small ones joined; errors say of which."""
    total, waiting, empty = None, [], None
    values, last = values_of(bundle, given), bundle.first + len(bundle.keys) - 1
    for number in range(bundle.first, last + 1):
        with _errors_of(number):
            part = next(values)
            rows = _rows_of(part[0] if len(part) == 1 else part, names, classifier)
        if not len(rows[0]):
            empty = rows
        elif waiting and not can_be_joined([rows for _, rows in waiting], rows):
            total, waiting = _with(step, total, waiting, bundle.first), [(number, rows)]
        else:
            waiting.append((number, rows))
    if waiting:
        return _with(step, total, waiting, bundle.first)
    with _errors_of(bundle.first, last):
        return step.map(*empty)


def _with(step, total, waiting, first):
    """Return the result of the partitions before and of those that wait."""
    numbers, several = zip(*waiting, strict=True)
    try:
        result = step.map(*joined(several))
    except MemoryError:
        raise
    except Exception as error:
        for number, rows in waiting:  # which of them is it?
            with _errors_of(number):
                step.map(*rows)
        raise ValueError(f"{_called(numbers[0], numbers[-1])}: {_one_line(error)}") from error
    if total is None:
        return result
    return _joined(step, total, result, (first, numbers[0] - 1), (numbers[0], numbers[-1]))


def _as_array(X, names, classifier):
    """Return a partition's rows as an array, columns in the order they should have."""
    if names is not None and list(X.columns) != names:
        missing = [name for name in names if name not in X.columns]
        if missing:
            raise ValueError(f"X has no column {missing[0]!r}")
        X = X[names]
    if not len(X):
        return np.empty(X.shape)
    with one_line_errors(classifier, X):
        return check_array(X, input_name="X", **ARRAY_CHECKS)


def _as_labels(y):
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    # None, NaN and pandas' NA, none of which np.unique can sort among strings
    if labels.dtype == object:
        missing = np.fromiter(map(is_no_value, labels), bool, len(labels))
        if missing.any():
            raise ValueError(f"y has no label in row {int(missing.argmax())}")
    return labels


def _reduce_parts(step, *results, first, each):
    """Return the result of several partitions, reduced in their order; errors say of which.

    The first result begins with partition ``first``, and each is that of ``each`` partitions.
    """
    total, *more = results
    for done, result in enumerate(more, 1):
        here = first + done * each
        total = _joined(step, total, result, (first, here - 1), (here, here + each - 1))
    return total


def _joined(step, total, result, before, after):
    """Return the result of partitions before and after; errors say which are meant."""
    try:
        return step.reduce(total, result)
    except (ValueError, TypeError) as error:
        parts = f"{_called(*before)} and {_called(*after)}"
        raise ValueError(f"{parts}: {_one_line(error)}") from error


def _called(first, last):
    return f"partition {first}" if first == last else f"partitions {first} to {last}"


def _one_line(error):
    text = " ".join(str(error).split()) or "no reason given"
    known = isinstance(error, ValueError | TypeError)
    return text if known else f"{type(error).__name__}: {text}"


# -- passes ----------------------------------------------------------------------------


def _run_pass(client, step, parts, bundles, classifier):
    """Return what all partitions reduce to."""
    graph, mapped, total = _graph(step, parts, bundles, classifier)
    with Progress(len(mapped), step.name) as bar:
        if client is None:
            return _run_here(graph, mapped, total, bar)
        return _run_on(client, graph, mapped, total, bar)


def _graph(step, parts, bundles, classifier):
    """Return the tasks of a pass, the keys of what they map, and the key of the result of all."""
    from dask.optimization import cull

    name = f"robell-{step.name.replace(' ', '-')}-{secrets.token_hex(8)}"
    shared = f"{name}-step"
    graph = {**parts.graph, shared: step}
    common = {"names": parts.names, "classifier": classifier}
    # Bound rather than passed: Dask would look for keys in the arguments of a task.
    size = 1
    if bundles is None:
        mapped = [(name, number) for number in range(len(parts.keys))]
        for key, part in zip(mapped, parts.keys, strict=True):
            graph[key] = (partial(_map_part, number=key[1], **common), shared, *part)
    else:
        size = len(bundles[0].keys)
        mapped = [(name, bundle.first) for bundle in bundles]
        for key, bundle in zip(mapped, bundles, strict=True):
            graph[key] = (partial(_map_bundle, bundle=bundle, **common), shared, *bundle.given)
    level, results = 0, mapped
    while len(results) > 1:
        level += 1
        groups = [results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN)]
        results = [(f"{name}-reduce-{level}", place) for place in range(len(groups))]
        each = size * FAN_IN ** (level - 1)
        for key, group in zip(results, groups, strict=True):
            task = partial(_reduce_parts, first=key[1] * each * FAN_IN, each=each)
            graph[key] = (task, shared, *group)
    return cull(graph, results)[0], mapped, results[0]


def _run_here(graph, mapped, total, bar):
    import dask.base
    import dask.threaded
    from dask.callbacks import Callback

    keys, running = set(mapped), set()

    def count(key, *_):
        if key in keys:
            bar.advance()

    def remember(_, state, failed):
        running.update(state["running"] if failed else ())

    get = dask.base.get_scheduler() or dask.threaded.get
    # As many threads as cores map parts already; BLAS would start as many again in each.
    try:
        with threadpool_limits(1), Callback(posttask=count, finish=remember):
            return get(graph, total)
    except MemoryError:
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith("partition"):
            raise
        number = _failed_part(graph, mapped, running)  # it failed while it was read
        where = "" if number is None else f"partition {number}: "
        raise ValueError(f"{where}{_one_line(error)}") from error


def _failed_part(graph, mapped, running):
    """Return the number of the partition one of whose running tasks fails, None if not known."""
    from dask.core import get_dependencies
    from dask.local import get_sync

    makers = {}  # the partition that needs a task; None where several do
    for key in mapped:
        number, waiting = key[1], [key]
        while waiting:
            for task in get_dependencies(graph, waiting.pop()):
                if makers.get(task, -1) not in (number, None):
                    makers[task] = None if task in makers else number
                    waiting.append(task)
    for key in sorted(running & set(makers), key=lambda key: makers[key] or 0):
        try:
            get_sync(graph, key)
        except Exception:
            return makers[key]
    return None


def _current_client():
    """Return the client in use, or None."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def _n_threads(client):
    """Return how many tasks run at a time: threads of the cluster, or cores of this machine."""
    if client is None:
        return effective_n_jobs(-1)
    workers = _Watch(client).check()
    return sum(worker["nthreads"] for worker in workers.values())


def _run_on(client, graph, mapped, total, bar):
    """Return the result of a cluster, or raise what kept it from coming."""
    numbers = {key: key[1] for key in mapped}  # of a task's first partition
    watch = _Watch(client)
    # One graph for both: a partition's result is dropped once it is reduced and counted.
    *waiting, last = _submitted(client, graph, [*mapped, total])
    waiting = {future.key: future for future in [*waiting, last]}
    arrived = queue.SimpleQueue()
    for future in waiting.values():
        future.add_done_callback(arrived.put)
    try:
        while last.key in waiting:
            try:
                future = arrived.get(timeout=PING_AFTER)
            except queue.Empty:
                watch.check()
                continue
            waiting.pop(future.key, None)
            if future.status != "finished":
                _raise_failure([future, *waiting.values()], numbers)
            if future.key in numbers:
                bar.advance()
            del future
        watch.check()
        return client.gather(last)
    finally:
        waiting.clear()


def _submitted(client, graph, keys):
    with warnings.catch_warnings():
        # A pass of a wide network is larger than Dask likes, and is sent once.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.get(graph, keys, sync=False)


def _raise_failure(futures, numbers):
    """Raise the reason of the first partition known to have failed."""
    failed = {
        numbers.get(future.key, math.inf): future for future in futures if future.status == "error"
    }
    if not failed:
        raise ClusterError(
            "the connection to the scheduler was lost, or the fit was cancelled; nothing was fitted"
        )
    number = min(failed)
    error = failed[number].exception()
    where = f"partition {number}: " if number < math.inf else ""
    if type(error).__name__ == "KilledWorker":
        raise ClusterError(
            f"{where}workers died of it again and again, for lack of memory perhaps: use smaller "
            "partitions or workers with more memory"
        ) from error
    if isinstance(error, ValueError) and str(error).startswith("partition"):
        raise error
    raise ValueError(f"{where}{_one_line(error)}") from error


class _Watch:
    """Finds out that a scheduler or all workers are gone."""

    def __init__(self, client):
        self.client = client
        self.seen_worker = time.monotonic()

    def check(self):
        """Return what the scheduler says of its workers."""
        try:
            found = self.client.sync(self.client.scheduler.identity, callback_timeout=PATIENCE)
        except Exception as error:
            raise ClusterError(
                f"the scheduler does not answer ({_one_line(error)}); nothing was fitted"
            ) from error
        now = time.monotonic()
        if found["workers"]:
            self.seen_worker = now
        elif now - self.seen_worker > WITHOUT_WORKERS:
            raise ClusterError(
                f"the cluster has had no worker for {WITHOUT_WORKERS:.0f} seconds; "
                "nothing was fitted"
            )
        return found["workers"]


# -- predictions on Dask: lazy, of a collection of any size, by any fitted model


def predict(estimator, X):
    """Return predicted classes or targets, lazily.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        From :func:`fit`, or fitted in any other way.
    X : dask array or dask data frame of shape (n_samples, n_features)
        Rows to predict. Of a data frame, the columns of fit are taken by name.

    Returns
    -------
    labels : dask array, dask series or dask data frame
        Nothing is computed before it is asked for. A series keeps the index of X. Of several
        targets there is a column each.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> import robell.dask
    >>> from robell import RVFLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RVFLClassifier(random_state=0).fit(X, y)
    >>> labels = robell.dask.predict(model, da.from_array(X, chunks=(100, -1)))
    >>> bool((labels.compute() == model.predict(X)).all())
    True
    """
    return _lazily(estimator, X, "predict")


def predict_proba(estimator, X):
    """Return class probabilities, lazily.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        With ``calibrate=True``.
    X : dask array or dask data frame of shape (n_samples, n_features)
        Rows to classify, as in :func:`predict`.

    Returns
    -------
    probability : dask array or dask data frame of shape (n_samples, n_classes)
        Columns of a data frame are the classes.

    Examples
    --------
    >>> import dask.array as da
    >>> import robell.dask
    >>> from robell import RVFLClassifier
    >>> model = RVFLClassifier(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> robell.dask.predict_proba(model, da.ones((500, 1), chunks=100)).shape
    (500, 2)
    """
    return _lazily(estimator, X, "predict_proba")


def decision_function(estimator, X):
    """Return raw scores, lazily.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        From :func:`fit`, or fitted in any other way.
    X : dask array or dask data frame of shape (n_samples, n_features)
        Rows to score, as in :func:`predict`.

    Returns
    -------
    scores : dask array, dask series or dask data frame
        One score a row for two classes, otherwise one for each class.

    Examples
    --------
    >>> import dask.array as da
    >>> import robell.dask
    >>> from robell import RVFLClassifier
    >>> model = RVFLClassifier(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> robell.dask.decision_function(model, da.ones((500, 1), chunks=100)).shape
    (500,)
    """
    return _lazily(estimator, X, "decision_function")


def _lazily(estimator, X, method):
    """Return a method's result for every partition: a column, or one for every class."""
    check_is_fitted(estimator)
    getattr(estimator, method)  # raises now, and says why, where there is none
    require("dask.array", "dask")
    require_dask("X", X)
    dtype, columns = _result_of(estimator, method)
    one_column = columns is None
    meta = np.empty((0,) if one_column else (0, len(columns)), dtype)
    if not is_array(X):
        meta = _as_frame(meta, columns)
        X = _columns_of_fit(estimator, X)
        return X.map_partitions(_predict_frame, estimator, method, meta, meta=meta)
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} columns, and the model was fitted to {estimator.n_features_in_}"
        )
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    shape = {"drop_axis": 1} if one_column else {"chunks": (X.chunks[0], (len(columns),))}
    return X.map_blocks(_predict_block, estimator, method, meta, dtype=dtype, meta=meta, **shape)


def _result_of(estimator, method):
    """Return the type of a method's results, and the names of their columns; None for one."""
    if is_regressor(estimator):
        n_targets = last_step(estimator).n_outputs_
        return np.dtype(float), None if n_targets == 1 else list(range(n_targets))
    classes = estimator.classes_
    if method == "predict":
        return classes.dtype, None
    one_column = method == "decision_function" and len(classes) == 2
    return np.dtype(float), None if one_column else classes


def _columns_of_fit(estimator, X):
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return X
    missing = [name for name in names if name not in X.columns]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}, which the model was fitted to")
    return X[list(names)]


def _as_frame(values, columns, index=None):
    import pandas

    if columns is None:
        return pandas.Series(values, index=index)
    return pandas.DataFrame(values, columns=columns, index=index)


def _predict_block(X, estimator, method, empty, block_id=None):
    if not len(X):
        return empty
    with _naming_partition(block_id and block_id[0]):
        return getattr(estimator, method)(X)


def _predict_frame(X, estimator, method, empty, partition_info=None):
    if not len(X):
        return empty
    columns = getattr(empty, "columns", None)
    rows = X if hasattr(estimator, "feature_names_in_") else np.asarray(X)
    with _naming_partition(partition_info and partition_info["number"]):
        return _as_frame(getattr(estimator, method)(rows), columns, X.index)


@contextmanager
def _naming_partition(number):
    """Say in errors of which partition they are, counted from 0, where that is known."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if number is None:
            raise
        raise type(error)(f"partition {number}: {' '.join(str(error).split())}") from error
