"""How much memory fits of files take, and how many rows that leaves for a batch or a sample."""

from __future__ import annotations

from bisect import bisect_right

from robell._core.ensemble.members import KEPT_NUMBERS, N_LANDMARKS
from robell._core.layers.deep import KEPT_ELEMENTS
from robell._tools.files import FileError, parse_bytes
from robell.scale.out_of_core import sampled_rows

FEWEST_ROWS, MOST_ROWS = 1024, 65536  # of a batch
FEWEST_SAMPLED = 2_000  # rows of a sample, or all there are
READERS = 48 << 20  # bytes that the readers of files keep beside a batch


def batch_rows(memory_limit, n_features, n_classes, n_columns):
    """Return how many rows may be read at a time, or raise if the limit is too small for any."""
    limit = parse_bytes(memory_limit)
    gram = n_columns**2 * (4 * n_classes + 6)  # of the classes, as they are added; the solution
    sample = n_classes * 2048 * (4 * n_features + 3 * n_columns)  # reservoirs, their features
    landmarks = 3 * n_classes * 512**2
    fixed = 8 * (gram + sample + landmarks) + (64 << 20)  # and blocks, tiles and read buffers
    each = 8 * (6 * n_features + 16)  # the row, scaled, split by class, and its hash
    rows = (limit - fixed) // each
    if rows < FEWEST_ROWS:
        needed = (fixed + FEWEST_ROWS * each) / 2**20
        raise ValueError(
            f"memory limit too small: {n_features} features, {n_classes} classes and "
            f"{n_columns} columns of the design matrix need {needed:.0f} MiB at least"
        )
    return int(min(rows, MOST_ROWS))


def memory_of_fit(classifier, n_rows, n_features, n_classes):
    """Return about how many bytes a model takes that is fitted to all rows at once."""
    if classifier._capabilities.by_sample:
        return _memory_of_members(classifier, n_rows, n_features, n_classes)
    n_hidden = int(getattr(classifier, "n_hidden", n_rows))  # a kernel has a column for each row
    each = 4 * n_features + 4 * n_classes + 16  # numbers of a row: as read, scaled, split by class
    layers = 4 * min(n_rows * (n_features + n_hidden), 1 << 24)  # at most this much is kept
    if hasattr(classifier, "n_layers"):
        n_hidden *= int(classifier.n_layers)
        layers += min(n_rows * n_hidden, KEPT_ELEMENTS)
    gram = (n_features + n_hidden) ** 2 * 10
    return 8 * (n_rows * each + layers + gram) + (64 << 20)


def _memory_of_members(classifier, n_rows, n_features, n_classes):
    """Return it for a model of several members, whose columns are kept between rounds."""
    n_columns = 2 * (n_features + int(classifier.n_hidden)) + N_LANDMARKS
    each = 5 * n_features + 16 * n_classes + 24  # as read, standardised, scores of all members
    gram = max(n_features + int(classifier.n_hidden), N_LANDMARKS) ** 2 * 10
    return 8 * (n_rows * each + min(n_rows * n_columns, KEPT_NUMBERS) + gram) + (64 << 20)


def require_memory(memory_limit, classifier, n_rows, n_features, n_classes):
    """Raise where a table is too large for a model that takes all of its rows at once."""
    needed = memory_of_fit(classifier, n_rows, n_features, n_classes)
    limit = parse_bytes(memory_limit)
    if needed > limit:
        raise FileError(
            f"{type(classifier).__name__} takes all rows at once, not in passes: {n_rows:,} rows "
            f"of {n_features} columns need about {needed / 2**20:,.0f} MiB, and the memory limit "
            f"leaves {limit / 2**20:,.0f} MiB"
        )


def sizes_of_sample(memory_limit, classifier, n_rows, n_features, n_classes):
    """Return how many rows a sample may have, and how many may be read at a time."""
    limit, fewest = parse_bytes(memory_limit), min(FEWEST_SAMPLED, n_rows)
    each = 8 * (6 * n_features + 16)  # of a row read: as in batch_rows
    batch = int(min(max(limit // 16 // each, FEWEST_ROWS), MOST_ROWS))

    def needed(rows):
        # The sample, put together with a batch's and sorted; not all of it is given back in time.
        reading = 2 * 8 * rows * (n_features + 3) + 2 * batch * each + READERS
        return reading + memory_of_fit(classifier, rows, n_features, n_classes)

    rows = bisect_right(range(sampled_rows(n_features, n_classes) + 1), limit, key=needed) - 1
    if rows < fewest:
        raise FileError(
            f"memory limit too small: {type(classifier).__name__} is fitted to {fewest:,} rows at "
            f"least, which with {n_features} features and {n_classes} classes need "
            f"{needed(fewest) / 2**20:,.0f} MiB, and the limit leaves {limit / 2**20:,.0f} MiB"
        )
    return rows, batch
