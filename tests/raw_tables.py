"""Five raw tables whose truth is known, as offices export them.

Every cell is made twice: as people write it (``$1,234.50``, ``31.12.24``, ``AUTO``) and plainly
(``1234.50``, ``2024-12-31``, ``auto``). Each class draws its columns independently of each other,
so that the probability of every class, given all columns, is known exactly.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np

GAPS = ("", "", "n/a", "?")
FIRST_DAY = date(2024, 1, 1)
KINDS_OF_NOISE = ("symmetric", "one-sided", "by group")
RATES = (0.04, 0.08, 0.12, 0.16)  # of wrong labels
KINDS_OF_LEAK = ("filled", "zero", "copy")


@dataclass(frozen=True)
class Raw:
    """A raw table and the truth about it.

    `kinds` says what each column is: "number", "date", "time", "category", "text" (words), "many"
    (texts of many values), "identifier" or "constant". `numbers` are the values of the columns of
    numbers, NaN where missing; `spellings` the ways in which the levels of a category are written.
    `wrong` marks the rows (of annotators: the labels) that are wrong, and `posterior` is the
    probability of every class, given the columns. `right` are the labels or numbers before any
    mistake, `right_cells` and `right_plain` how the table and its plain spelling write them.
    """

    name: str
    header: list[str]
    cells: list[list[str]]
    plain_cells: list[list[str]]
    target: str
    kinds: dict[str, str]
    numbers: dict[str, np.ndarray]
    spellings: dict[str, dict[str, str]]
    leaks: tuple[str, ...]
    right: np.ndarray
    wrong: np.ndarray
    right_cells: list[str] = field(default_factory=list)
    right_plain: list[str] = field(default_factory=list)
    posterior: np.ndarray | None = None
    classes: tuple[str, ...] = ()
    group: str = ""
    groups: np.ndarray | None = None
    noise: str = ""
    rate: float = 0.0
    annotators: tuple[str, ...] = ()
    delimiter: str = ","

    @property
    def text(self):
        """The table as people write it."""
        return self._csv(self.cells)

    @property
    def plain(self):
        """The same table with numbers, dates and categories written plainly."""
        return self._csv(self.plain_cells)

    def _csv(self, columns):
        stream = io.StringIO()
        writer = csv.writer(stream, delimiter=self.delimiter, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows(zip(*columns, strict=True))
        return stream.getvalue()


# -- how people write ---------------------------------------------------------------------


def _european(value, digits):
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


NUMBER_STYLES = {
    "plain": lambda v: f"{v:.2f}",
    "dollars": lambda v: f"${v:,.2f}",
    "euros": lambda v: f"€ {_european(v, 2)}",
    "euros after": lambda v: f"{_european(v, 2)} EUR",
    "francs": lambda v: f"CHF {v:,.2f}".replace(",", "'"),
    "kilograms": lambda v: f"{v:.1f} kg",
    "comma": lambda v: f"{v:.2f}".replace(".", ","),
    "minus": lambda v: f"{v:.2f}".replace("-", "\N{MINUS SIGN}"),
    "percent": lambda v: f"{v:.0f} %",
    "whole": lambda v: f"{v:.0f}",
}
DECIMALS = {"kilograms": 1, "percent": 0, "whole": 0}
MONEY = ("dollars", "euros", "euros after", "francs")
DATE_STYLES = {"iso": "%Y-%m-%d", "dotted": "%d.%m.%y", "american": "%m/%d/%y"}


def _variants(level):
    """Return other spellings of a level: capitals, a blank, an abbreviation, a slip."""
    slip = level[:2] + level[3:] if len(level) > 5 else level + level[-1]
    return [level.upper(), level.capitalize(), f"{level} ", f"{level[:3]}.", slip]


# -- a table, column by column --------------------------------------------------------------


class Maker:
    """Columns drawn for rows whose true class is known, with their likelihoods."""

    def __init__(self, codes, n_classes, rng, strength=1.0):
        self.codes, self.rng, self.n, self.strength = codes, rng, len(codes), strength
        self.log_likelihood = np.zeros((len(codes), n_classes))
        self.header, self.cells, self.plain_cells = [], [], []
        self.kinds, self.numbers, self.spellings = {}, {}, {}

    def add(self, name, kind, cells, plain=None):
        """Add a column that has been written already."""
        self.header.append(name)
        self.cells.append(list(cells))
        self.plain_cells.append(list(cells if plain is None else plain))
        self.kinds[name] = kind

    def number(self, name, means, spread, style, *, gaps=0.03, log=False):
        """Add numbers with a mean for each class; with ``log``, of their logarithm."""
        means = np.mean(means) + self.strength * (np.asarray(means) - np.mean(means))
        draws = self.rng.normal(means[self.codes], spread)
        off = (draws[:, None] - means) / spread
        values = np.exp(draws) if log else draws
        values = np.round(values, DECIMALS.get(style, 2)) + 0.0
        gone = self.rng.random(self.n) < gaps
        self.log_likelihood -= np.where(gone[:, None], 0.0, 0.5 * off**2)
        self.written(name, values, style, gone)
        return np.where(gone, np.nan, draws)

    def written(self, name, values, style, gone):
        """Add numbers in a style, some of them missing."""
        digits, write = DECIMALS.get(style, 2), NUMBER_STYLES[style]
        empty = self.rng.choice(GAPS, self.n)
        cells = [e if g else write(v) for v, g, e in zip(values, gone, empty, strict=True)]
        plain = ["" if g else f"{v:.{digits}f}" for v, g in zip(values, gone, strict=True)]
        self.add(name, "number", cells, plain)
        factor = 0.01 if style == "percent" else 1.0
        self.numbers[name] = np.where(gone, np.nan, values * factor)
        if style == "percent":
            plain = ["" if g else f"{v / 100:.2f}" for v, g in zip(values, gone, strict=True)]
            self.plain_cells[-1] = plain

    def category(self, name, levels, shares, *, odd=0.12, gaps=0.02):
        """Add a category with shares of its levels for each class, some cells spelt otherwise."""
        shares = np.asarray(shares, float)
        shares = np.broadcast_to(shares, (self.log_likelihood.shape[1], len(levels)))
        shares = shares / shares.sum(axis=1, keepdims=True)
        cumulative = shares.cumsum(axis=1)[self.codes]
        drawn = (self.rng.random((self.n, 1)) > cumulative).sum(axis=1)
        drawn = np.minimum(drawn, len(levels) - 1)
        gone = self.rng.random(self.n) < gaps
        self.log_likelihood += np.where(gone[:, None], 0.0, np.log(shares.T[drawn]))
        spelt_oddly = self.rng.random(self.n) < odd
        which = self.rng.integers(0, 5, self.n)
        spellings = {level: level for level in levels}
        cells = []
        for k, g, o, v in zip(drawn, gone, spelt_oddly, which, strict=True):
            cell = "" if g else _variants(levels[k])[v] if o else levels[k]
            if cell:
                spellings[cell.strip()] = levels[k]
            cells.append(cell)
        plain = ["" if g else levels[k] for k, g in zip(drawn, gone, strict=True)]
        self.add(name, "category", cells, plain)
        if odd:
            self.spellings[name] = spellings
        return np.array(plain)

    def day(self, name, style, *, days=360):
        """Add dates of about a year, the same for all classes."""
        drawn = [FIRST_DAY + timedelta(int(d)) for d in self.rng.integers(0, days, self.n)]
        plain = [day.isoformat() for day in drawn]
        self.add(name, "date", [day.strftime(DATE_STYLES[style]) for day in drawn], plain)

    def time(self, name, night_shares):
        """Add times of day, at night (0 to 5) for a share of each class."""
        shares = np.asarray(night_shares)
        night = self.rng.random(self.n) < shares[self.codes]
        hour = np.where(night, self.rng.integers(0, 6, self.n), self.rng.integers(6, 24, self.n))
        minute = self.rng.integers(0, 60, self.n)
        self.log_likelihood += np.log(np.where(night[:, None], shares, 1 - shares))
        cells = [f"{h:02d}:{m:02d}" for h, m in zip(hour, minute, strict=True)]
        self.add(name, "time", cells)

    def words(self, name, common, telling, share):
        """Add notes of four words, one of them telling for a share of each class's rows."""
        n_classes = self.log_likelihood.shape[1]
        some = self.rng.choice(common, (self.n, 3))
        says = self.rng.random(self.n) < share
        own = self.rng.integers(0, len(telling[0]), self.n)
        # A telling word is of the row's own class four times in five, and else of any class.
        of = np.where(
            self.rng.random(self.n) < 0.8, self.codes, self.rng.integers(0, n_classes, self.n)
        )
        notes = []
        for i in range(self.n):
            last = telling[of[i]][own[i]] if says[i] else common[own[i] % len(common)]
            notes.append(" ".join([*some[i], last, str(self.rng.integers(1, 9999))]))
        likelihood = np.where(np.eye(n_classes)[of] > 0, 0.8 + 0.2 / n_classes, 0.2 / n_classes)
        self.log_likelihood += np.where(says[:, None], np.log(likelihood), 0.0)
        self.add(name, "text", notes)

    def shops(self, name, n_shops=400):
        """Add names of many shops, some of them met often, which say nothing of the class."""
        drawn = self.rng.zipf(1.4, self.n) % n_shops
        streets = ("Mill", "Park", "Lake", "Hill", "Oak", "King", "Elm", "Bay")
        cells = [f"{streets[k % 8]} Street Stores {k}" for k in drawn]
        self.add(name, "many", cells)

    def posterior(self, prior):
        """Return the probability of every class, given the columns."""
        log = self.log_likelihood + np.log(prior)
        log -= log.max(axis=1, keepdims=True)
        P = np.exp(log)
        return P / P.sum(axis=1, keepdims=True)


# -- wrong labels ---------------------------------------------------------------------------


def plant(codes, n_classes, kind, rate, groups, rng, smallest):
    """Return labels of which about a share ``rate`` is wrong, and which are.

    "symmetric": any label becomes any other. "one-sided": labels of the class ``smallest`` become
    those of class 0, as many as the rate says but at most 40 % of the class. "by group": symmetric,
    in the first group three times as often as in the others.
    """
    n = len(codes)
    if kind == "one-sided":
        of_class = codes == smallest
        chance = np.where(of_class, min(0.4, rate * n / max(of_class.sum(), 1)), 0.0)
    elif kind == "by group":
        first = groups == np.unique(groups)[0]
        share = rate / (1 + 2 * first.mean())
        chance = np.where(first, 3 * share, share)
    else:
        chance = np.full(n, rate)
    wrong = rng.random(n) < chance
    other = (codes + rng.integers(1, n_classes, n)) % n_classes
    if kind == "one-sided":
        other = np.zeros(n, int)
    return np.where(wrong, other, codes), wrong


def _noise_of(seed, noise, rate):
    """Return the kind and the rate of wrong labels, by the seed where they are not given."""
    noise = KINDS_OF_NOISE[seed % 3] if noise is None else noise
    return noise, RATES[seed // 3 % 4] if rate is None else rate


# -- the five tables ------------------------------------------------------------------------

BRANCHES = ("Kyiv", "Lima", "Oslo", "Rome")
NOTES = [
    "photos",
    "attached",
    "witness",
    "named",
    "repair",
    "shop",
    "called",
    "letter",
    "sent",
    "phone",
    "call",
    "customer",
]
FRAUD_WORDS = (("receipts", "inspected", "dated"), ("cash", "vague", "vanished"))


def claims(seed=0, n=1500, *, noise=None, rate=None, leak=None, strength=1.0):
    """Return insurance claims, one in four of them a fraud, with or without a leak.

    A leak is a column that was filled in after the label: "filled" only for labels 'yes', "zero"
    for nothing but labels 'yes', or a "copy" of 98 % of the labels.
    """
    rng = np.random.default_rng([seed, 1 if leak is None else 2])
    noise, rate = _noise_of(seed, noise, rate)
    codes = (rng.random(n) < 0.25).astype(int)
    made = Maker(codes, 2, rng, strength)
    money = rng.permutation(MONEY)
    made.add("claim_no", "identifier", [f"C-{7 * k + 10007:06d}" for k in range(n)])
    made.day("received", "dotted")
    made.time("hour", [0.2, 0.4])
    branch = made.category("branch", BRANCHES, [1, 1, 1, 1], odd=0.0, gaps=0.0)
    made.category(
        "vehicle", ("auto", "motorbike", "lorry", "bicycle"), [[6, 1, 2, 1], [3, 3, 2, 2]]
    )
    made.number("amount", [7.2, 8.0], 0.8, money[0], log=True)
    made.number("deductible", [5.5, 5.2], 0.6, money[1], log=True)
    made.number("weight", [1400, 1280], 260, "kilograms")
    made.number("balance", [0.3, -0.4], 0.8, "minus")
    made.number("index", [1.0, 1.2], 0.4, "comma", gaps=0.08)
    made.number("share", [35, 45], 14, "percent")
    made.words("note", NOTES, FRAUD_WORDS, 0.35)
    made.shops("garage")
    posterior = made.posterior([0.75, 0.25])
    labels, wrong = plant(codes, 2, noise, rate, branch, rng, 1)
    leaks = ()
    if leak is not None:
        leaks = (_add_leak(made, leak, labels, rng),)
    made.add("source", "constant", ["export 4"] * n)
    names = np.array(["no", "yes"])
    spelt = [rng.choice([name, name, name.capitalize()]) for name in names[labels]]
    return _table(
        made, "claims" if leak is None else f"claims with a leak ({leak})", "fraud",
        spelt, names[labels], names[codes], wrong,
        posterior=posterior, classes=("no", "yes"), leaks=leaks, noise=noise, rate=rate,
        group="branch", groups=branch,
    )  # fmt: skip


def claims_with_leak(seed=0, n=1500, **options):
    """Return claims with one leak, of a kind that the seed chooses."""
    return claims(seed, n, leak=KINDS_OF_LEAK[seed % 3], **options)


def _add_leak(made, leak, labels, rng):
    yes = labels == 1
    if leak == "filled":
        found = np.where(rng.random(made.n) < 0.95, rng.choice(["Ann", "Bob", "Cyd"], made.n), "")
        made.add("investigator", "category", np.where(yes, found, ""))
        return "investigator"
    if leak == "zero":
        paid = np.where(yes, 0.0, np.round(np.exp(rng.normal(7.0, 0.8, made.n)), 2))
        made.written("paid_out", paid, "euros", np.zeros(made.n, bool))
        return "paid_out"
    copied = np.where(rng.random(made.n) < 0.98, yes, ~yes)
    made.add("status", "category", np.where(copied, "rejected", "settled"))
    return "status"


SIX = ("billing", "delivery", "fault", "returns", "staff", "website")
SIX_WORDS = tuple(
    part.split() for part in (
        "invoice charged refund", "parcel late courier", "broken noise defect",
        "return exchange label", "rude helpful clerk", "login page password",
    )
)  # fmt: skip
TALK = [
    "hello",
    "please",
    "again",
    "since",
    "monday",
    "answer",
    "waiting",
    "thanks",
    "order",
    "customer",
    "year",
]


def complaints(seed=0, n=1800, *, noise=None, rate=None, strength=1.3):
    """Return complaints of customers, of six classes."""
    rng = np.random.default_rng([seed, 3])
    noise, rate = _noise_of(seed, noise, rate)
    prior = np.array([0.3, 0.2, 0.18, 0.14, 0.1, 0.08])
    codes = rng.choice(6, n, p=prior)
    made = Maker(codes, 6, rng, strength)
    made.add("ticket", "identifier", [f"{k:05d}-{(k * 7919) % 9973:04d}" for k in range(n)])
    made.day("opened", "american")
    made.time("at", [0.05, 0.05, 0.1, 0.05, 0.05, 0.4])
    made.category(
        "channel", ("mail", "phone", "chat", "letter"),
        [[5, 2, 1, 2], [2, 5, 2, 1], [2, 5, 3, 1], [4, 1, 3, 2], [1, 6, 1, 4], [4, 1, 7, 1]],
    )  # fmt: skip
    site = made.category("site", BRANCHES, [1, 1, 1, 1], odd=0.0, gaps=0.0)
    made.number("price", [4.0, 3.6, 5.4, 4.6, 3.4, 3.2], 1.2, rng.choice(MONEY), log=True)
    made.number("parcel", [5.0, 9.0, 12.0, 6.0, 5.0, 4.0], 4.0, "kilograms")
    made.number("days_open", [24, 16, 30, 35, 19, 14], 12.0, "whole", gaps=0.05)
    made.number("mood", [-0.3, -0.5, -0.8, 0.4, -1.3, 0.6], 0.9, "minus")
    made.number("score", [4.5, 5.5, 3.5, 5.0, 3.2, 6.0], 1.3, "comma")
    made.words("text", TALK, SIX_WORDS, 0.5)
    made.shops("product")
    posterior = made.posterior(prior)
    labels, wrong = plant(codes, 6, noise, rate, site, rng, 1)
    names = np.array(SIX)
    return _table(
        made, "complaints", "department", list(names[labels]), names[labels], names[codes], wrong,
        posterior=posterior, classes=SIX, noise=noise, rate=rate, group="site", groups=site,
    )  # fmt: skip


def flats(seed=0, n=1500, *, rate=None):
    """Return flats and their prices, some of which were typed wrongly."""
    rng = np.random.default_rng([seed, 4])
    rate = RATES[seed % 4] if rate is None else rate
    made = Maker(np.zeros(n, int), 1, rng)
    quarter = rng.integers(0, 4, n)
    made.add("flat", "identifier", [f"F{k:05d}" for k in rng.permutation(n) + 20000])
    made.day("offered", "iso")
    made.time("viewing", [0.05])
    area = made.number("area", [75.0], 22.0, "comma", gaps=0.0).clip(20, None)
    levels = ("centre", "harbour", "heights", "suburb")
    made.category("street", BRANCHES, [1, 1, 1, 1], odd=0.0)
    spelt = [
        v if rng.random() > 0.12 else rng.choice(_variants(v)) for v in np.array(levels)[quarter]
    ]
    made.add("quarter", "category", spelt, np.array(levels)[quarter])
    made.spellings["quarter"] = {
        s.strip(): v for s, v in zip(spelt, np.array(levels)[quarter], strict=True)
    }
    charges = made.number("charges", [5.4], 0.3, rng.choice(MONEY), gaps=0.03, log=True)
    age = made.number("age", [40.0], 18.0, "whole", gaps=0.04)
    made.number("load", [350.0], 60.0, "kilograms")
    altitude = made.number("altitude", [0.0], 1.0, "minus", gaps=0.02)
    made.words("remark", TALK, (("sunny", "quiet", "lift"),), 0.5)
    made.shops("agent", 200)
    log_price = (
        12.0 + 0.011 * (area - 75) + np.array([0.35, 0.15, 0.0, -0.3])[quarter]
        - 0.006 * (np.nan_to_num(age, nan=40.0) - 40) + 0.12 * np.nan_to_num(altitude)
        + 0.3 * (np.nan_to_num(charges, nan=5.4) - 5.4) + rng.normal(0, 0.1, n)
    )  # fmt: skip
    right = np.round(np.exp(log_price), -2)
    wrong = rng.random(n) < rate
    how = rng.integers(0, 3, n)
    shuffled = right[rng.permutation(n)]
    slip = np.where(how == 0, right * 10, np.where(how == 1, np.round(right / 10, 0), shuffled))
    given = np.where(wrong, slip, right)
    wrong &= np.abs(np.log(given / right)) > 0.05
    given = np.where(wrong, given, right)
    write = {
        "dollars": lambda v: f"${v:,.0f}",
        "euros": lambda v: f"€ {_european(v, 0)}",
        "euros after": lambda v: f"{_european(v, 0)} EUR",
        "francs": lambda v: f"CHF {v:,.0f}".replace(",", "'"),
    }[MONEY[seed % 4]]
    return _table(
        made, "flats", "price", [write(v) for v in given], given, right, wrong,
        plain_target=[f"{v:.0f}" for v in given], right_cells=[write(v) for v in right],
        right_plain=[f"{v:.0f}" for v in right],
        noise="slips", rate=rate,
    )  # fmt: skip


PEOPLE = ("ann", "bob", "cyd", "dan")


def annotated(seed=0, n=1000):
    """Return photos of parts that four people labelled, one of them badly, none of them all."""
    rng = np.random.default_rng([seed, 5])
    prior = np.array([0.5, 0.3, 0.2])
    codes = rng.choice(3, n, p=prior)
    made = Maker(codes, 3, rng)
    made.add("photo", "identifier", [f"IMG_{(k * 37) % 100003:06d}.jpg" for k in range(n)])
    made.day("taken", "dotted")
    made.time("at", [0.1, 0.3, 0.3])
    made.category("line", ("north", "south", "press"), [[5, 3, 2], [2, 5, 3], [2, 2, 6]])
    made.number("cost", [3.0, 3.5, 4.2], 0.7, rng.choice(MONEY), log=True)
    made.number("weight", [12.0, 10.8, 9.6], 1.7, "kilograms")
    made.number("shift", [0.0, 0.7, -0.6], 0.8, "minus")
    made.number("gauge", [1.0, 1.3, 1.6], 0.5, "comma")
    made.words("remark", TALK, (("fine", "clean"), ("scratch", "mark"), ("crack", "gap")), 0.4)
    made.shops("supplier", 200)
    posterior = made.posterior(prior)
    names = np.array(["fine", "scratched", "cracked"])
    rates = np.array([0.05, 0.08, 0.1, 0.25])
    wrong = rng.random((n, 4)) < rates
    other = (codes[:, None] + rng.integers(1, 3, (n, 4))) % 3
    said = names[np.where(wrong, other, codes[:, None])]
    absent = rng.random((n, 4)) < 0.25
    absent[absent.all(axis=1), 0] = False
    for k, person in enumerate(PEOPLE):
        made.add(person, "label", np.where(absent[:, k], "", said[:, k]))
    return _table(
        made, "annotated", "", None, None, names[codes], wrong & ~absent,
        posterior=posterior, classes=tuple(names), annotators=PEOPLE,
        noise="annotators", rate=float(rates.mean()),
    )  # fmt: skip


TABLES = {
    "claims with a leak": claims_with_leak,
    "claims": claims,
    "six classes": complaints,
    "numbers": flats,
    "annotators": annotated,
}


def _table(made, name, target, cells, given, right, wrong, *, plain_target=None, **truth):
    """Return a table with its target as the last column, if it has one."""
    if target:
        made.add(target, "target", cells, given if plain_target is None else plain_target)
    kinds = {column: kind for column, kind in made.kinds.items() if kind not in ("target", "label")}
    truth.setdefault("leaks", ())
    truth.setdefault("right_cells", list(right))
    truth.setdefault("right_plain", list(right))
    return Raw(
        name, made.header, made.cells, made.plain_cells, target, kinds, made.numbers,
        made.spellings, right=right, wrong=wrong, **truth,
    )  # fmt: skip
