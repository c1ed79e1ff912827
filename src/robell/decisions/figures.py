"""The pictures of a fit's page: curves with the chosen point, calibration, columns that matter."""

from __future__ import annotations

from robell.report.picture import ALARM, CALM, INK, MUTED, RULE, Picture, label

SIZE = 300  # of the square in which curves are drawn
LEFT, TOP, BELOW = 52, 12, 44
ENDS = (0.04, 0.08, 0.2, 0.4, 0.6, 0.8, 1.0)  # of the axes of a calibration curve
WIDTH = 460
MOST_COLUMNS = 15


class _Axes:
    """A square from 0 to 1 in both directions, with names for both."""

    def __init__(self, name, title, about, across, most=1.0):
        size = (LEFT + SIZE + 20, TOP + SIZE + BELOW)
        self.picture, self.most = Picture(f"fit-{name}", *size, title, about), most
        for step in range(5):
            value = most * step / 4
            x, y = self.at(value, value)
            self.picture.line(LEFT, y, LEFT + SIZE, y, RULE)
            self.picture.text(LEFT - 6, y + 4, _tick(value), "end", fill=MUTED)
            self.picture.text(x, TOP + SIZE + 17, _tick(value), "middle", fill=MUTED)
        self.picture.text(LEFT + SIZE / 2, TOP + SIZE + 37, across, "middle")

    def at(self, x, y):
        """Return where a point of the square stands in the picture."""
        return LEFT + SIZE * x / self.most, TOP + SIZE * (1.0 - y / self.most)

    def curve(self, points, **options):
        """Draw a line through points of the square."""
        self.picture.curve([self.at(x, y) for x, y in points], **options)

    def dot(self, x, y, colour=ALARM, size=5.0):
        """Mark a point of the square."""
        self.picture.dots([self.at(x, y)], colour, "circle", size, 1.0)


def _tick(value):
    return f"{100 * value:.3g} %"


def precision_recall(decision):
    """Draw precision over recall, with the chosen point."""
    recall, precision, _ = decision.point
    about = f"At the chosen threshold precision is {precision:.2f} and recall {recall:.2f}"
    axes = _Axes("pr", "Precision and recall", about, "found of all positives (recall)")
    axes.curve([(0, decision.share), (1, decision.share)], colour=MUTED, width=1.0, dashes="4 4")
    axes.curve([(r, p) for r, p, _ in decision.points])
    axes.dot(recall, precision)
    return axes.picture.svg()


def roc(decision):
    """Draw the share of positives found over the share of false alarms, with the chosen point."""
    recall, _, false = decision.point
    about = f"At the chosen threshold {recall:.2f} are found with {false:.2f} false alarms"
    axes = _Axes("roc", "ROC curve", about, "negatives flagged (false alarms)")
    axes.curve([(0, 0), (1, 1)], colour=MUTED, width=1.0, dashes="4 4")
    axes.curve([(f, r) for r, _, f in decision.points])
    axes.dot(false, recall)
    return axes.picture.svg()


def calibration(decision):
    """Draw the share of positives over the probability, for groups of equally many rows."""
    bins = [(p, share) for p, share, _ in decision.bins]
    largest = max(max(pair) for pair in bins)
    most = next(end for end in ENDS if end >= largest or end == 1.0)
    about = "; ".join(f"{p:.3f}: {share:.3f}" for p, share in bins)
    axes = _Axes("calibration", "Calibration", about, "mean probability of a group", most)
    axes.curve([(0, 0), (most, most)], colour=MUTED, width=1.0, dashes="4 4")
    axes.curve(bins)
    for p, share in bins:
        axes.dot(p, share, CALM, 4.0)
    return axes.picture.svg()


def columns_that_matter(importances):
    """Draw by how much shuffling each column lowers the score."""
    shown = importances[:MOST_COLUMNS]
    most = max(max(one.drop for one in shown), 1e-9)
    about = ", ".join(f"{label(one.name)}: {one.drop:.3f}" for one in shown)
    picture = Picture("fit-columns", WIDTH, 40 * len(shown) + 6, "Columns that matter", about)
    room = WIDTH - 90
    for place, one in enumerate(shown):
        top = 40 * place
        width = room * max(one.drop, 0.0) / most
        picture.text(0, top + 14, label(one.name), weight="600", fill=INK)
        picture.bar(0, top + 20, max(1.5, width), 12, CALM)
        error = room * one.deviation / most
        picture.line(max(width - error, 0), top + 26, min(width + error, room + 40), top + 26)
        picture.text(max(width + error, width) + 7, top + 31, f"{one.drop:.3f}", fill=MUTED)
    return picture.svg()
