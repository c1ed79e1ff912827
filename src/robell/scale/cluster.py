"""Fits and predictions on Dask: tables larger than memory, on one machine or on many.

A fit is a few map-reduce passes over the partitions (:mod:`robell.scale.out_of_core`). Every task
is a pure function of a partition, so what a lost worker had done is simply done again, and results
are reduced in the order of the partitions, so the model does not depend on who finished first.
"""

from __future__ import annotations

import math
import queue
import secrets
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

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


def fit(estimator: Any, X: Any, y: Any, client: Any = None, sample_weight: Any = None) -> Any:
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
    if client is None and "distributed" in sys.modules:
        from distributed import default_client

        with suppress(ValueError):  # there is none
            client = default_client()
    if client is not None and client.asynchronous:
        raise TypeError("robell.dask.fit needs a synchronous client (asynchronous=False)")
    n_threads = effective_n_jobs(-1)  # how many tasks run at a time
    if client is not None:
        n_threads = sum(worker["nthreads"] for worker in _Watch(client).check().values())
    bundles = bundles_of(parts, n_threads, client is None)
    for step in job.passes():
        graph, mapped, total = _graph(step, parts, bundles, job.classifier)
        with Progress(len(mapped), step.name) as bar:
            run = _run_here if client is None else partial(_run_on, client)
            step.finish(run(graph, mapped, total, bar))
    return job.estimator(parts.names)


# -- tasks, which run on workers -------------------------------------------------------


@contextmanager
def _errors_of(*ranges):
    """Name the partitions, from the first to the last of each range, in the errors raised here."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        where = " and ".join(
            f"partition {first}" if first == last else f"partitions {first} to {last}"
            for first, last in ranges
        )
        raise ValueError(f"{where}: {_one_line(error)}") from error


def _rows_of(part, names, classifier):
    """Return rows, labels and weights of a partition as arrays, columns in their order."""
    X, y, *weight = part
    for what, values in zip(("y", "sample_weight"), (y, *weight), strict=False):
        if len(values) != len(X):
            raise ValueError(f"X has {len(X)} rows and {what} {len(values)}")
    if names is not None and list(X.columns) != names:
        if missing := [name for name in names if name not in X.columns]:
            raise ValueError(f"X has no column {missing[0]!r}")
        X = X[names]
    if len(X):
        with one_line_errors(classifier, X):
            X = check_array(X, input_name="X", **ARRAY_CHECKS)
    else:
        X = np.empty(X.shape)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    # None, NaN and pandas' NA, none of which np.unique can sort among strings
    if labels.dtype == object:
        has_none = np.fromiter(map(is_no_value, labels), bool, len(labels))
        if has_none.any():
            raise ValueError(f"y has no label in row {int(has_none.argmax())}")
    return [X, labels, *map(np.asarray, weight)]


def _map_bundle(step, *given, bundle, names, classifier):
    """Return a pass's result of several partitions, small ones joined; errors name them."""
    total, empty = None, []
    waiting: list = []
    values, last = values_of(bundle, given), bundle.first + len(bundle.keys) - 1
    for number in range(bundle.first, last + 1):
        with _errors_of((number, number)):
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
    with _errors_of((bundle.first, last)):
        return step.map(*empty)


def _with(step, total, waiting, first):
    """Return the result of the partitions before and of those that wait."""
    numbers, several = zip(*waiting, strict=True)
    these = numbers[0], numbers[-1]
    try:
        result = step.map(*joined(several))
    except MemoryError:
        raise
    except Exception:
        for number, rows in waiting:  # which of them is it?
            with _errors_of((number, number)):
                step.map(*rows)
        with _errors_of(these):
            raise
    with _errors_of((first, numbers[0] - 1), these):
        return result if total is None else step.reduce(total, result)


def _reduce_parts(step, total, *results, first, each):
    """Reduce the results of partitions in their order, from ``first`` on; errors name them."""
    for done, result in enumerate(results, 1):
        here = first + done * each
        with _errors_of((first, here - 1), (here, here + each - 1)):
            total = step.reduce(total, result)
    return total


def _one_line(error):
    text = " ".join(str(error).split()) or "no reason given"
    known = isinstance(error, ValueError | TypeError)
    return text if known else f"{type(error).__name__}: {text}"


# -- passes ----------------------------------------------------------------------------


def _graph(step, parts, bundles, classifier):
    """Return the tasks of a pass, the keys of what they map, and the key of the result of all."""
    from dask._task_spec import Task, TaskRef
    from dask.optimization import cull

    name = f"robell-{step.name.replace(' ', '-')}-{secrets.token_hex(8)}"
    shared = f"{name}-step"
    graph = {**parts.graph, shared: step}
    common = {"names": parts.names, "classifier": classifier}
    # Bound rather than passed: Dask would look for keys in the arguments of a task.
    mapped = [(name, bundle.first) for bundle in bundles]
    for key, bundle in zip(mapped, bundles, strict=True):
        # References, since Dask takes the bare key of what a cluster holds already for a value.
        given = [TaskRef(one) for one in (shared, *bundle.given)]
        graph[key] = Task(key, partial(_map_bundle, bundle=bundle, **common), *given)
    size, level, results = len(bundles[0].keys), 0, mapped
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

    keys: set = set(mapped)

    def count(key, *_):
        if key in keys:
            bar.advance()

    get = dask.base.get_scheduler() or dask.threaded.get
    # As many threads as cores map parts already; BLAS would start as many again in each.
    try:
        with threadpool_limits(1), Callback(posttask=count):
            return get(graph, total)
    except MemoryError:
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith("partition"):
            raise
        raise ValueError(_one_line(error)) from error  # in what several partitions need


def _run_on(client, graph, mapped, total, bar):
    """Return the result of a cluster, or raise what kept it from coming."""
    numbers = {key: key[1] for key in mapped}  # of a task's first partition
    watch = _Watch(client)
    # One graph for both: a partition's result is dropped once it is reduced and counted.
    with warnings.catch_warnings():
        # A pass of a wide network is larger than Dask likes, and is sent once.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        futures = client.get(graph, [*mapped, total], sync=False)
    waiting, last = {future.key: future for future in futures}, futures[-1]
    del futures
    arrived: queue.SimpleQueue = queue.SimpleQueue()
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


def _raise_failure(futures, numbers):
    """Raise the reason of the first partition known to have failed."""
    failures = (future for future in futures if future.status == "error")
    failed = {numbers.get(future.key, math.inf): future for future in failures}
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


# -- partitions: rows, labels and weights matched ------------------------------------------------


class Parts(NamedTuple):
    """Tasks that make the partitions, and the keys of X, y and weights in each of them."""

    graph: dict
    keys: list
    names: list | None  # of the columns


def match_parts(X, y, sample_weight, several_targets=False):
    """Match the partitions of X, y and weights; y may have several columns where that is said."""
    targets = [y] if isinstance(y, str) else y
    if isinstance(y, str) or (several_targets and isinstance(y, list)):
        require_dask("X", X)
        columns = [str(name) for name in getattr(X, "columns", [])]
        for target in targets:
            if target not in columns:
                raise ValueError(f"X has no column {target!r} to take the labels from")
        X, y = X[[name for name in X.columns if name not in targets]], X[y]
    given = {"X": X, "y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    for name, collection in given.items():
        require_dask(name, collection)
    names = None  # of a frame's columns as scikit-learn knows them: strings or nothing
    if not is_array(X):
        kinds = {isinstance(name, str) for name in X.columns}
        if kinds == {True, False}:
            raise TypeError("the columns of X must all be named by strings, or none of them")
        names = list(X.columns) if kinds == {True} else None
    if any(is_array(collection) for collection in given.values()):
        graph, keys = _parts_of_blocks(given, several_targets)
        return Parts(graph, keys, names)
    from dask.dataframe import map_partitions

    _require_equal_counts({name: frame.npartitions for name, frame in given.items()})
    frames = map_partitions(_together, *given.values(), align_dataframes=False, meta=(None, object))
    graph, keys = _tasks_of_frame(frames)
    return Parts(graph, [(key,) for key in keys], names)


def is_array(collection):
    """Return whether this is a dask array."""
    import dask.array

    return isinstance(collection, dask.array.Array)


def require_dask(name, collection):
    """Raise for what is neither a dask array nor a dask data frame."""
    is_frame = hasattr(collection, "to_delayed") and hasattr(collection, "map_partitions")
    if not (is_array(collection) or (is_frame and hasattr(collection, "npartitions"))):
        raise TypeError(
            f"{name} must be a dask array or data frame; got {type(collection).__name__}, for "
            "which the estimator's own fit and predict are made"
        )
    n_dimensions = getattr(collection, "ndim", None)
    if name == "X" and n_dimensions != 2:
        raise ValueError(f"X must have two dimensions; it has {n_dimensions}")


def _tasks_of_frame(frame):
    """Return the tasks that make a frame's partitions, and their keys."""
    # Simplified, so that only the columns needed are read, and read once; not fully optimised,
    # because that joins small partitions, of X and y not always the same ones.
    expression = frame.simplify().expr.lower_completely()
    with suppress(ImportError):  # not public; without it there are only more tasks
        from dask.dataframe.dask_expr._expr import optimize_blockwise_fusion

        expression = optimize_blockwise_fusion(expression)
    return dict(expression.__dask_graph__()), expression.__dask_keys__()


def _parts_of_blocks(given, several_targets):
    import dask

    arrays = {
        name: _as_blocks(name, x, given["X"], several_targets and name == "y")
        for name, x in given.items()
        if is_array(x)
    }
    arrays = dict(zip(arrays, dask.optimize(*arrays.values()), strict=True))
    graph, keys = {}, {}
    for name, collection in given.items():
        if name in arrays:
            tasks = dict(arrays[name].__dask_graph__())
            keys[name] = list(dask.core.flatten(arrays[name].__dask_keys__()))
        else:
            tasks, keys[name] = _tasks_of_frame(collection)
        graph.update(tasks)
    _require_equal_counts({name: len(several) for name, several in keys.items()})
    return graph, list(zip(*keys.values(), strict=True))


def _as_blocks(name, array, X, may_be_table):
    """Return an array cut along its rows only, and where X is, as far as that is known."""
    if name == "X":
        return array.rechunk({1: -1}) if array.numblocks[1] > 1 else array
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 and may_be_table:
        array = array.rechunk({1: -1})
    elif array.ndim != 1:
        raise ValueError(f"{name} must have one dimension; its shape is {array.shape}")
    if not is_array(X) or np.isnan(X.shape[0]) or np.isnan(array.shape[0]):
        return array
    if array.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and {name} {array.shape[0]}")
    return array.rechunk({0: X.chunks[0]})


def _require_equal_counts(counts):
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ValueError(
            f"partitions cannot be matched: {text}; take X and y from one data frame, or "
            "repartition them alike"
        )


def _together(*several):
    return several


# -- many small partitions made few tasks: a task reads several, joins their rows and maps these
# A task costs Dask about a millisecond, and a pass over a few rows about as much, whatever they do.


ENOUGH_TASKS = 60  # with fewer, nothing is gained
TASKS_A_THREAD = 16  # so that threads finish together, and little is done again for a lost one
FEWEST_BUNDLED = 4  # partitions; for fewer it is not worth while
JOINED_ROWS = 16_384  # of small partitions, mapped together
SHARED = -1


class Bundle(NamedTuple):
    """The partitions of one task."""

    first: int  # number of its first partition
    keys: list  # of X, y and weights in every partition
    tasks: dict  # that no other bundle needs; they run inside the bundle's own task
    given: list  # keys of what others need too


def bundles_of(parts, n_threads, on_this_machine=False):
    """Return the partitions in bundles, each in its own where they are few."""
    # Partitions that a cluster already holds would have to be sent around, and stay alone too. On a
    # cluster, what makes a partition that stays alone are tasks of their own.
    from dask.core import get_dependencies

    graph, n_parts = parts.graph, len(parts.keys)
    size = -(-n_parts // max(ENOUGH_TASKS, TASKS_A_THREAD * n_threads))
    size = 1 if size < FEWEST_BUNDLED else size
    is_held = any(type(task).__name__ == "Future" for task in graph.values())
    if is_held or (size == 1 and not on_this_machine):
        return [Bundle(place, [keys], {}, list(keys)) for place, keys in enumerate(parts.keys)]
    groups = [parts.keys[i : i + size] for i in range(0, n_parts, size)]
    needs = {key: get_dependencies(graph, key) for key in graph}
    users: dict = {}  # the bundle that needs a task, or SHARED
    for place, group in enumerate(groups):
        waiting = [key for keys in group for key in keys]
        while waiting:
            key = waiting.pop()
            user = users.get(key)
            if user not in (place, SHARED):
                users[key] = place if user is None else SHARED
                waiting.extend(needs[key])
    tasks: list[dict] = [{} for _ in groups]
    for key, user in users.items():
        if user != SHARED:
            tasks[user][key] = graph[key]
    bundles = []
    for place, (group, own) in enumerate(zip(groups, tasks, strict=True)):
        wanted = {key for keys in group for key in keys}.union(*(needs[key] for key in own))
        given = sorted(wanted - own.keys(), key=str)
        bundles.append(Bundle(place * size, group, own, given))
    return bundles


def values_of(bundle, given):
    """Yield X, y and weights of every partition, each made when it is asked for."""
    from dask._task_spec import DataNode
    from dask.local import get_sync
    from dask.optimization import cull

    graph = dict(bundle.tasks)
    for key, value in zip(bundle.given, given, strict=True):
        graph[key] = DataNode(key, value)  # Dask does not look into it
    for keys in bundle.keys:
        yield get_sync(cull(graph, list(keys))[0], list(keys))


def can_be_joined(several, more):
    """Say whether more rows, with labels and weights, can be joined to those of partitions."""
    if sum(len(rows[0]) for rows in several) + len(more[0]) > JOINED_ROWS:
        return False
    kinds = ([(x.dtype, x.shape[1:]) for x in rows] for rows in (several[-1], more))
    return next(kinds) == next(kinds)


def joined(several):
    """Return the rows, labels and weights of several partitions, one after the other."""
    if len(several) == 1:
        return several[0]
    return [np.concatenate(arrays) for arrays in zip(*several, strict=True)]


# -- predictions on Dask: lazy, of a collection of any size, by any fitted model


def predict(estimator: Any, X: Any) -> Any:
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


def predict_proba(estimator: Any, X: Any) -> Any:
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


def decision_function(estimator: Any, X: Any) -> Any:
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
    dtype, columns = np.dtype(float), None  # names of the columns; None for one
    if is_regressor(estimator):
        n_targets = last_step(estimator).n_outputs_
        columns = None if n_targets == 1 else list(range(n_targets))
    elif method == "predict":
        dtype = estimator.classes_.dtype
    elif method == "predict_proba" or len(estimator.classes_) > 2:
        columns = estimator.classes_
    meta = np.empty((0,) if columns is None else (0, len(columns)), dtype)
    if not is_array(X):
        names = getattr(estimator, "feature_names_in_", None)
        if names is not None:
            if missing := [name for name in names if name not in X.columns]:
                raise ValueError(f"X has no column {missing[0]!r}, which the model was fitted to")
            X = X[list(names)]
        meta = _as_frame(meta, columns)
        return X.map_partitions(_predict_part, estimator, method, meta, meta=meta)
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} columns, and the model was fitted to {estimator.n_features_in_}"
        )
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    shape = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (len(columns),))}
    return X.map_blocks(_predict_part, estimator, method, meta, dtype=dtype, meta=meta, **shape)


def _as_frame(values, columns, index=None):
    import pandas

    if columns is None:
        return pandas.Series(values, index=index)
    return pandas.DataFrame(values, columns=columns, index=index)


def _predict_part(X, estimator, method, empty, block_id=None, partition_info=None):
    """Return predictions for a block of an array or a partition of a frame; errors name it."""
    if not len(X):
        return empty
    is_frame = not isinstance(empty, np.ndarray)
    rows = np.asarray(X) if is_frame and not hasattr(estimator, "feature_names_in_") else X
    try:
        values = getattr(estimator, method)(rows)
    except (ValueError, TypeError) as error:
        if block_id is None and partition_info is None:
            raise
        number = block_id[0] if block_id else partition_info["number"]
        raise type(error)(f"partition {number}: {' '.join(str(error).split())}") from error
    return _as_frame(values, getattr(empty, "columns", None), X.index) if is_frame else values
