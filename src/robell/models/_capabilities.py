"""What each classifier of the family can do, declared in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Capabilities:
    """What a classifier can do beyond fitting arrays; asked for here and nowhere else.

    A class declares its own in ``_capabilities``. Who wants something that is not declared refuses
    by name; documentation and tests of the whole family read the same record.
    """

    streams: bool = False  # partial_fit and merge: rows that are seen once
    passes: bool = False  # fits in passes over files or over partitions on a cluster
    by_sample: bool = False  # passes keep a sample of all rows, which ``fit`` is then given
    tensors: bool = False  # fits torch tensors where they are
    exact_search: bool = False  # RVFLGridSearchCV shares its factorisations among candidates
    weighs_by_membership: bool = False  # row weights depend on all other rows
    scales_inputs: bool = False  # standardises the columns itself
    calibrates_left_out: bool = True  # probabilities come from leave-one-out scores
