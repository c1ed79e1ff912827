"""Models that behave badly, and tables for them; workers import them by name."""

import os
import time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB


class Odd(ClassifierMixin, BaseEstimator):
    """Always predicts the first class, unless it is told to do something odd."""

    def __init__(self, does="predict"):
        self.does = does

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.does == "raise":
            raise RuntimeError("it does not like this table")
        if self.does == "hang":
            time.sleep(600)
        if self.does == "die":
            os.kill(os.getpid(), 9)
        return self

    def predict(self, X):
        if self.does == "nan":
            return np.full(len(X), np.nan)
        if self.does == "unseen":
            return np.full(len(X), "neither")
        if self.does == "short":
            return np.full(len(X) - 1, self.classes_[0])
        return np.full(len(X), self.classes_[0])


class NotFinite(Odd):
    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


def make_bayes(seed):
    return GaussianNB()


def make_tuned(seed):
    return LogisticRegression(random_state=seed), {"C": [0.01, 1.0]}


def blobs(name, counts=(40, 20), d=3, seed=0, shift=1.5):
    """A frame of numbers with one column of text and a column of labels."""
    import pandas as pd

    random = np.random.default_rng([seed, len(name)])
    y = np.repeat(np.arange(len(counts)), counts)
    frame = pd.DataFrame(random.normal(size=(len(y), d)) + shift * y[:, None])
    frame.columns = [f"x{k}" for k in range(d)]
    frame["town"] = random.choice(["Oslo", "Rome"], len(y))
    frame["label"] = np.array(["no", "yes", "maybe"])[y]
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)
