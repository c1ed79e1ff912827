"""Partitions of Dask collections: rows, labels and weights matched; small ones bundled."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np


class Parts(NamedTuple):
    """Tasks that make the partitions, and the keys of X, y and weights in each of them."""

    graph: dict
    keys: list
    names: list | None  # of the columns


def match_parts(X, y, sample_weight, several_targets=False):
    """Match the partitions of X, y and weights; y may have several columns where that is said."""
    if isinstance(y, str):
        X, y = _split_off(X, y)
    elif several_targets and isinstance(y, list):
        X, y = _split_off_several(X, y)
    given = {"X": X, "y": y}
    if sample_weight is not None:
        given["sample_weight"] = sample_weight
    for name, collection in given.items():
        require_dask(name, collection)
    if all(not is_array(collection) for collection in given.values()):
        return Parts(*_parts_of_frames(given), _column_names(X))
    return Parts(*_parts_of_blocks(given, several_targets), _column_names(X))


def _split_off(X, target):
    """Return the other columns of a frame, and this one."""
    require_dask("X", X)
    columns = [str(name) for name in getattr(X, "columns", [])]
    if target not in columns:
        raise ValueError(f"X has no column {target!r} to take the labels from")
    return X[[name for name in X.columns if name != target]], X[target]


def _split_off_several(X, targets):
    """Return the other columns of a frame, and these."""
    for target in targets:
        _split_off(X, target)
    return X[[name for name in X.columns if name not in targets]], X[targets]


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


def _column_names(X):
    """Return the names of a frame's columns as scikit-learn knows them: strings or nothing."""
    if is_array(X):
        return None
    names = list(X.columns)
    kinds = {isinstance(name, str) for name in names}
    if kinds == {True, False}:
        raise TypeError("the columns of X must all be named by strings, or none of them")
    return names if kinds == {True} else None


def _parts_of_frames(given):
    from dask.dataframe import map_partitions

    _require_equal_counts({name: frame.npartitions for name, frame in given.items()})
    together = map_partitions(
        _together, *given.values(), align_dataframes=False, meta=(None, object)
    )
    graph, keys = _tasks_of_frame(together)
    return graph, [(key,) for key in keys]


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


def bundles_of(parts, n_threads):
    """Return the partitions in bundles, or None where they should stay as they are.

    Partitions that a cluster already holds would have to be sent around, and are not bundled.
    """
    from dask.core import get_dependencies

    graph, n_parts = parts.graph, len(parts.keys)
    size = -(-n_parts // max(ENOUGH_TASKS, TASKS_A_THREAD * n_threads))
    if size < FEWEST_BUNDLED or any(type(task).__name__ == "Future" for task in graph.values()):
        return None
    groups = [parts.keys[i : i + size] for i in range(0, n_parts, size)]
    needs = {key: get_dependencies(graph, key) for key in graph}
    users = {}  # the bundle that needs a task, or SHARED
    for place, group in enumerate(groups):
        waiting = [key for keys in group for key in keys]
        while waiting:
            key = waiting.pop()
            user = users.get(key)
            if user not in (place, SHARED):
                users[key] = place if user is None else SHARED
                waiting.extend(needs[key])
    tasks = [{} for _ in groups]
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
    from dask.local import get_sync
    from dask.optimization import cull

    graph = dict(bundle.tasks)
    for key, value in zip(bundle.given, given, strict=True):
        graph[key] = (partial(_value, value),)  # bound, so that Dask does not look into it
    for keys in bundle.keys:
        yield get_sync(cull(graph, list(keys))[0], list(keys))


def _value(value):
    return value


def can_be_joined(several, more):
    """Say whether more rows, with labels and weights, can be joined to those of partitions."""
    if sum(len(rows[0]) for rows in several) + len(more[0]) > JOINED_ROWS:
        return False
    kinds = ([(x.dtype, x.shape[1:]) for x in rows] for rows in (several[-1], more))
    return next(kinds) == next(kinds)


def joined(several):
    """Return the rows, labels and weights of several partitions, one after the other."""
    return [np.concatenate(arrays) for arrays in zip(*several, strict=True)]
