"""A reviewer who works on the page of an audit by keys, and the table that must come of it.

The oracle knows nothing of the page: it keeps a list of decisions, undoes the last one, and changes
lines of the audited file.
"""

import time

KEYS = {"keep": "k", "change": "c", "drop": "d", "skip": "s", "undo": "u"}
READY = "Boolean(document.querySelector('.review').desk)"
WORDS = ["keep", "change", "change", "change", "other", "drop", "skip", "undo"]


class Oracle:
    """What the decisions so far are, and at which suspect the review is."""

    def __init__(self, n):
        self.made, self.history, self.place = [None] * n, [], 0

    def decide(self, word, label=None):
        """Decide upon the row that is shown, and go to the next one without a decision."""
        self.history.append((self.place, self.made[self.place]))
        self.made[self.place] = (word, label)
        n = len(self.made)
        after = [(self.place + step) % n for step in range(1, n + 1)]
        self.place = next((k for k in after if self.made[k] is None), self.place)

    def undo(self):
        """Take the last decision back, and go to its row."""
        if self.history:
            self.place, before = self.history.pop()
            self.made[self.place] = before

    def reopen(self):
        """Begin anew: the decisions stand, and each row's last one can be undone."""
        last = {place: order for order, (place, _) in enumerate(self.history) if self.made[place]}
        self.history = [(place, None) for place in sorted(last, key=last.get)]
        self.place = self.made.index(None) if None in self.made else 0


def review_by_keys(browser, result, rng, n_steps, out):
    """Decide by keys, reload half way, undo, save; return the oracle and the file saved."""
    browser.open(result.html)
    browser.wait(READY)
    browser.run("localStorage.clear()")
    browser.open(result.html)
    browser.wait(READY)
    shown = result.order[result.suspect[result.order]]
    oracle = Oracle(len(shown))
    browser.run("document.querySelector('.card').focus()")
    for k in range(n_steps):
        if k == n_steps // 2:
            browser.open(result.html)
            browser.wait(READY)
            browser.run("document.querySelector('.card').focus()")
            oracle.reopen()
        word = WORDS[rng.integers(len(WORDS))]
        row = shown[oracle.place]
        if word == "other":
            others = [c for c in result.classes if c != result.given[row]]
            label = str(others[rng.integers(len(others))])
            browser.press("o")
            browser.press(label[0])
            browser.press("Enter")
            oracle.decide("change", label)
        else:
            browser.press(KEYS[word])
            if word == "undo":
                oracle.undo()
            else:
                oracle.decide(word, str(result.suggested[row]) if word == "change" else None)
    while oracle.history and rng.random() < 0.7:
        browser.press("u")
        oracle.undo()
    return oracle, save(browser, out / result.csv.name.replace("-audit.csv", "-decisions.csv"))


def save(browser, path):
    """Press the button to save, and return the path of the file once it is there."""
    browser.save_to(path.parent)
    browser.click(".review .save")
    deadline = time.monotonic() + 30
    while not path.is_file():
        assert time.monotonic() < deadline, "nothing was saved"
        time.sleep(0.02)
    return path


def expected_table(path, result, oracle):
    """Return the lines of the table as decided; its last column is the label."""
    shown = result.order[result.suspect[result.order]]
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    gone = set()
    for place, made in zip(shown, oracle.made, strict=True):
        if made and made[0] == "drop":
            gone.add(result.row[place] - 1)
        if made and made[0] == "change":
            at = result.row[place] - 1
            lines[at] = f"{lines[at].rpartition(',')[0]},{made[1]}"
    return [header, *(line for at, line in enumerate(lines) if at not in gone)]
