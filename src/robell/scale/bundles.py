"""Many small partitions made few tasks: a task reads several, joins their rows and maps these.

A task costs Dask about a millisecond, and a pass over a few rows about as much, whatever they do.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

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
