"""Text of many different values as a few columns of numbers, without a look at any label.

The common words of the texts span a space of indicators, each weighted by its rarity log(n / n_w)
and every text scaled to length one. Of that space the directions of largest variance are kept
(latent semantic analysis): texts that share words get similar numbers. One more column says how
often a text occurs, on a logarithmic scale.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter

import numpy as np
from scipy.sparse import csr_array

MOST_TOKENS = 300
LEAST_SHARE, LEAST_COUNT = 0.005, 3  # rows in which a word must occur
MOST_SHARE = 0.95  # a word in more rows than that says little
MOST_COUNTED = 20_000  # texts whose frequency is kept
MOST_READ = 400  # characters of a text that are read
ROWS_A_COLUMN = 50  # no more columns than one for so many rows
_TOKEN = re.compile(r"[^\W\d_]{2,}|\d+")


def tokens_of(text):
    """Return the words and numbers of a text, each once, in small letters."""
    return set(_TOKEN.findall(text[:MOST_READ].casefold()))


def learn_words(counts, n_rows, most):
    """Return what turns texts into numbers; None if they share no words and occur equally often.

    ``counts`` says how many of the rows have each text.
    """
    most = max(1, min(most, n_rows // ROWS_A_COLUMN))
    of_text = {text: tokens_of(text) for text in counts}
    frequency = Counter()
    for text, tokens in of_text.items():
        for token in tokens:
            frequency[token] += counts[text]
    least, largest = max(LEAST_COUNT, LEAST_SHARE * n_rows), MOST_SHARE * sum(counts.values())
    kept = [(-n, token) for token, n in frequency.items() if least <= n <= largest]
    tokens = [token for _, token in sorted(kept)[:MOST_TOKENS]]
    plan = {"tokens": np.array(tokens, dtype=str), "hashes": None, "logs": None, "axes": None}
    plan["rarity"] = np.array([np.log(n_rows / frequency[token]) for token in tokens])
    if tokens:
        _learn_axes(plan, list(counts), np.array(list(counts.values()), float), n_rows, most)
    _learn_frequency(plan, counts, n_rows)
    plan["names"] = [f"words {k + 1}" for k in range(0 if not tokens else plan["axes"].shape[1])]
    if plan["hashes"] is not None:
        plan["names"].append("frequency")
    return plan if plan["names"] else None


def _learn_axes(plan, texts, weight, n_rows, most):
    """Keep the directions of largest variance, scaled to a total variance of one."""
    space = _indicators(plan, texts).toarray()
    mean = weight @ space / n_rows
    spread = (space.T @ (space * weight[:, None])) / n_rows - np.outer(mean, mean)
    values, axes = np.linalg.eigh(spread)
    values, axes = values[::-1][:most], axes[:, ::-1][:, :most]
    kept = values > 1e-9 * max(values[0], 1e-300)
    axes = axes[:, kept]
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(axes.shape[1])])  # one sign on every machine
    plan["axes"] = axes / np.sqrt(max(values[kept].sum(), 1e-300))
    plan["centre"] = mean @ plan["axes"]


def _indicators(plan, texts):
    """Return which of the common words each text holds, weighted and of length one."""
    place = {token: k for k, token in enumerate(plan["tokens"].tolist())}
    found = [[place[token] for token in tokens_of(text) if token in place] for text in texts]
    lengths = [len(places) for places in found]
    columns = np.fromiter((p for places in found for p in sorted(places)), np.intp, sum(lengths))
    values = plan["rarity"][columns]
    rows = np.repeat(np.arange(len(texts)), lengths)
    norm = np.sqrt(np.bincount(rows, values**2, minlength=len(texts)))
    values = values / np.maximum(norm, 1e-300)[rows]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(texts), len(place))
    return csr_array((values, columns, starts), shape=shape)


def _learn_frequency(plan, counts, n_rows):
    """Keep how often the commonest texts occur, by their digests, where that differs."""
    common = [(text, n) for text, n in counts.most_common(MOST_COUNTED) if n > 1]
    if len({n for _, n in counts.items()}) < 2:
        return
    digests = np.array([_digest(text) for text, _ in common], np.int64)
    order = np.argsort(digests)
    plan["hashes"] = digests[order]
    plan["logs"] = np.log2([n for _, n in common])[order]
    every = np.array(list(counts.values()), float)
    logs = np.log2(every)
    mean = float(every @ logs / n_rows)
    plan["often"] = [mean, float(np.sqrt(every @ (logs - mean) ** 2 / n_rows)) or 1.0]


def _digest(text):
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def apply_words(plan, cells, missing):
    """Return the columns of numbers for the cells of a column; zeros, the mean, where missing."""
    texts = list(dict.fromkeys(c for c, gone in zip(cells, missing, strict=True) if not gone))
    places = {text: k for k, text in enumerate(texts)}
    columns = np.zeros((len(texts) + 1, len(plan["names"])))  # the last row: missing
    n_axes = 0
    if plan["axes"] is not None:
        n_axes = plan["axes"].shape[1]
        for start in range(0, len(texts), 1 << 14):
            part = slice(start, min(start + (1 << 14), len(texts)))
            columns[part, :n_axes] = _indicators(plan, texts[part]) @ plan["axes"] - plan["centre"]
    if plan["hashes"] is not None:
        mean, deviation = plan["often"]
        digests = np.fromiter((_digest(text) for text in texts), np.int64, len(texts))
        at = np.minimum(np.searchsorted(plan["hashes"], digests), max(len(plan["hashes"]) - 1, 0))
        known = plan["hashes"][at] == digests if len(plan["hashes"]) else np.zeros(len(at), bool)
        logs = np.where(known, plan["logs"][at], 0.0) if len(plan["hashes"]) else np.zeros(len(at))
        columns[: len(texts), n_axes] = (logs - mean) / deviation
    row = np.fromiter(
        (-1 if gone else places[c] for c, gone in zip(cells, missing, strict=True)),
        np.intp,
        len(cells),
    )
    return columns[row]
