"""What is to be done, as frozen plain records: one job is one cell of a table or figure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np

from robell.studies.paper.printed import (
    DATASETS,
    MODELS,
    NOISE_DATASETS,
    NOISE_LEVELS,
    NOISE_MODELS,
    SENSITIVITY_DATASETS,
)

# In the order they are shown; "tests" are computed from the cells of "table1".
STUDIES = ("table1", "probe", "noise", "sensitivity")
PROTOCOLS = ("paper", "repeated")
TUNED_BY = {"paper": ("accuracy",), "repeated": ("accuracy", "g_mean")}
# CPU seconds of one search at 400 training rows, for the order of jobs and the time left.
TYPICAL_SECONDS = {
    "rvfl": 1,
    "elm": 1,
    "nf": 10,
    "crvfl": 1.5,
    "acrvfl": 2,
    "gb": 5,
    "gegb": 15,
    "robell": 18,
}


@dataclass(frozen=True)
class Rows:
    """A table as jobs see it.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of int of shape (n_samples,)
        0 and 1.
    positive : int
        The label that sensitivity refers to.
    digest : str
        Of the table's contents.
    about : dict
        Where it comes from, for the record.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    positive: int
    digest: str
    about: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One unit of work; its key says all that its result depends on.

    Attributes
    ----------
    study, protocol, dataset, model : str
    digest : str
        Of the table's contents: other rows are another job.
    repeat : int
    noise : int
        Percent of the training labels that are flipped.
    tuned_by : tuple of str
        Metrics; candidates are chosen by each of them.
    """

    study: str
    protocol: str
    dataset: str
    model: str
    digest: str
    repeat: int = 0
    noise: int = 0
    tuned_by: tuple[str, ...] = ("accuracy",)

    @property
    def key(self):
        """Return what tells this job from all others."""
        fields = asdict(self) | {"tuned_by": "+".join(self.tuned_by), "digest": self.digest[:16]}
        return "/".join(str(value) for value in fields.values())

    @property
    def cost(self):
        """Return about how long it takes, in CPU seconds."""
        if self.study == "probe":
            return 2
        return TYPICAL_SECONDS[self.model]


def plan_jobs(studies, tables, models, protocols, repeats, tuned_by=None):
    """Return the jobs of some studies over some tables.

    Parameters
    ----------
    studies : iterable of {"table1", "probe", "noise", "sensitivity"}
    tables : dict of str -> Rows
        By name. Studies the paper made on some of its sets are made on those of them that are
        here; where none of the paper's 26 is here, on all that are.
    models : iterable of str
        Keys of models.
    protocols : iterable of {"paper", "repeated"}
        The probe and the sensitivity are of the first only: they hold the print against one split.
    repeats : int
        Of the protocol "repeated".
    tuned_by : tuple of str, default=None
        Metrics to tune by under "repeated"; accuracy and G-mean by default.

    Returns
    -------
    jobs : list of Job
        Without duplicates, in the order of tables and models.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.studies.paper.plan import Rows, plan_jobs
    >>> rows = Rows("haberman", np.zeros((4, 1)), np.array([0, 0, 1, 1]), 0, "ab")
    >>> jobs = plan_jobs(["table1"], {"haberman": rows}, ["rvfl", "robell"], ["paper"], 10)
    >>> [job.model for job in jobs]
    ['rvfl', 'robell']
    """
    known = [name for name in MODELS if name in models]
    jobs = []

    def add(study, names, some_models, protocol, levels=(0,)):
        criteria = TUNED_BY[protocol] if tuned_by is None else tuned_by
        if protocol == "paper":
            criteria = TUNED_BY["paper"]
        for name in names:
            for model in some_models:
                for noise in levels:
                    for repeat in range(repeats if protocol == "repeated" else 1):
                        jobs.append(
                            Job(
                                study,
                                protocol,
                                name,
                                model,
                                tables[name].digest,
                                repeat,
                                noise,
                                tuple(criteria),
                            )
                        )

    noisy = [model for model in NOISE_MODELS if model in known]
    for protocol in protocols:
        if "table1" in studies:
            add("table1", tables, known, protocol)
        if "noise" in studies:
            # The clean cells too: curves start there, and under "table1" they are the same job.
            chosen = _of_the_paper(tables, NOISE_DATASETS)
            add("table1", chosen, noisy, protocol)
            add("noise", chosen, noisy, protocol, NOISE_LEVELS)
    if "paper" in protocols and "robell" in known:
        if "probe" in studies:
            add("probe", [name for name in tables if name in DATASETS], ["robell"], "paper")
        if "sensitivity" in studies:
            add("sensitivity", _of_the_paper(tables, SENSITIVITY_DATASETS), ["robell"], "paper")
    return list(dict.fromkeys(jobs))


def _of_the_paper(tables, names):
    """Return which of these names are here; all tables, where none of the paper's is."""
    if not any(name in DATASETS for name in tables):
        return list(tables)
    return [name for name in names if name in tables]
