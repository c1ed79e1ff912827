"""A comparison to be killed: a plain script, without a guard for its workers."""

import sys
import time

from own_models import blobs
from sklearn.naive_bayes import GaussianNB

from robell import compare


class Slow(GaussianNB):
    """Known to this script alone."""

    def fit(self, X, y):
        time.sleep(0.05)
        return super().fit(X, y)


tables = {name: blobs(name) for name in ("a", "bb")}
models = {"mine": Slow(), "function": lambda seed: Slow()}
compare(tables, models, target="label", repeats=6, out=sys.argv[1])
