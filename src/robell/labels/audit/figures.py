"""The pictures of the page as SVG, in the colours of its light or dark theme."""

from __future__ import annotations

import numpy as np

from robell._tools.text import counted, number_text
from robell.report.picture import ALARM, CALM, MUTED, RULE, Picture, label

WIDTH = 460
ROOM = WIDTH - 130  # of the longest bar
SHORT_LABEL = 22  # the same where another text stands beside it
MOST_HISTOGRAMS = 8
BINS = 20
MOST_DOTS = 3_000
MOST_MARKED = 1_000
WIDEST_SPREAD = 24.0  # pixels by which dots of equal rows are moved apart
# The square in which predictions stand beside what is given.
LEFT, TOP, BELOW = 66, 56, 46
SIDE = WIDTH - LEFT - 8
OUTER = 0.5  # percent of the right numbers at either end that may stand at the edge
MARGIN = 0.06
TICKS = 5
APART = 56  # pixels between the numbers of the lower axis
# Colour and shape of the dots of up to six classes; further ones share the last.
KINDS = (
    ("light-dark(#0067a5,#6bb8ee)", "circle"),
    ("light-dark(#2e7d32,#7bc67e)", "square"),
    ("light-dark(#8e5aa8,#c79be0)", "triangle"),
    ("light-dark(#7a6a00,#d3c04a)", "diamond"),
    ("light-dark(#00798a,#5fcbd8)", "plus"),
    ("light-dark(#77756f,#9c9a94)", "circle"),
)


def class_bars(names, given, estimated):
    """Draw how many rows have each label, and how many truly belong to it if that is estimated."""
    step = 58 if estimated is not None else 42
    sizes = ", ".join(f"{label(name)}: {n:,}" for name, n in zip(names, given, strict=True))
    picture = Picture("audit-balance", WIDTH, step * len(names) + 6, "Rows of each class", sizes)
    most = max(max(given), max(estimated) if estimated is not None else 0, 1)
    for place, name in enumerate(names):
        top = step * place
        _named_bar(picture, top, name, given[place] / most, counted(int(given[place]), "row"))
        if estimated is not None:
            width = ROOM * estimated[place] / most
            picture.bar(0, top + 37, max(1.5, width), 13, "none", CALM)
            text = f"about {round(float(estimated[place])):,} really"
            picture.text(width + 7, top + 48, text, fill=MUTED)
    return picture.svg()


def _named_bar(picture, top, name, share, text):
    """Draw a bar below its name, of a share of the room, and a text beside it."""
    picture.text(0, top + 15, label(name), weight="600")
    picture.bar(0, top + 21, max(1.5, ROOM * share), 13, CALM)
    picture.text(ROOM * share + 7, top + 32, text)


def quality_histograms(names, codes, quality, suspect):
    """Draw a histogram of the quality for each of the eight largest classes; also return which."""
    counts = np.bincount(codes, minlength=len(names))
    shown = sorted(np.argsort(-counts, kind="stable")[:MOST_HISTOGRAMS].tolist())
    height = 118
    about = "For each class a histogram of the probability that a row's label is right"
    size = (WIDTH, height * len(shown) + 34)
    picture = Picture("audit-quality", *size, "Quality of the labels by class", about)
    for place, k in enumerate(shown):
        of_class = codes == k
        top, floor = height * place, height * place + 104
        picture.text(0, top + 15, label(names[k], SHORT_LABEL), weight="600")
        bins = np.minimum((quality[of_class] * BINS).astype(int), BINS - 1)
        calm = np.bincount(bins[~suspect[of_class]], minlength=BINS)
        alarm = np.bincount(bins[suspect[of_class]], minlength=BINS)
        most = max(int((calm + alarm).max()), 1)
        for b in range(BINS):
            x, width = b * WIDTH / BINS + 1, WIDTH / BINS - 2
            foot = floor
            for count, least, colour in ((alarm[b], 2.0, ALARM), (calm[b], 1.0, CALM)):
                if count:
                    tall = max(74 * count / most, least)
                    foot -= tall
                    picture.bar(x, foot, width, tall, colour)
        picture.line(0, floor, WIDTH, floor)
        picture.text(WIDTH, top + 15, f"tallest bar: {counted(most, 'row')}", "end", fill=MUTED)
    foot = height * len(shown)
    for x, text, anchor in (
        (0, "0 % sure", "start"),
        (WIDTH / 2, "50 %", "middle"),
        (WIDTH, "100 % sure", "end"),
    ):
        picture.text(x, foot + 8, text, anchor, fill=MUTED)
    picture.text(WIDTH / 2, foot + 27, "how sure it is that a row's label is right", "middle")
    return picture.svg(), shown


def group_rates(groups, chosen, whole):
    """Draw the share of wrong labels of some groups with its interval, beside the whole table's."""
    step = 40
    about = "For each group the estimated share of wrong labels, and the interval it lies in"
    picture = Picture(
        "audit-groups", WIDTH, step * len(chosen) + 30, "Wrong labels by group", about
    )
    most = max(float(groups.high[chosen].max()), whole, 0.01)
    foot = step * len(chosen) + 4

    def across(share):
        return 6 + (WIDTH - 12) * share / most

    picture.curve([(across(whole), 0), (across(whole), foot)], MUTED, 1.0, "4 3")
    for row, g in enumerate(chosen):
        top = step * row
        picture.text(0, top + 15, label(str(groups.group[g]), SHORT_LABEL), weight="600")
        size = f"{100 * groups.noise_rate[g]:.0f} % of {counted(int(groups.n_rows[g]), 'row')}"
        picture.text(WIDTH, top + 15, size, "end", fill=MUTED)
        y, colour = top + 27, ALARM if groups.noise_rate[g] > whole else CALM
        picture.curve([(across(groups.low[g]), y), (across(groups.high[g]), y)], colour, 2.0)
        spot = [(across(groups.noise_rate[g]), y)]
        picture.dots(spot, colour, "circle", 5.5, 1.0)
        if not groups.differs[g]:
            picture.dots(spot, "var(--paper)", "circle", 3.5, 1.0)
    for share, anchor in ((0.0, "start"), (most, "end")):
        picture.text(across(share), foot + 18, f"{100 * share:.0f} %", anchor, fill=MUTED)
    return picture.svg()


def annotator_bars(names, quality, n_labels, chance):
    """Draw the share of right labels of each annotator, beside that of guessing."""
    step = 42
    told = ", ".join(f"{label(n)}: {100 * q:.0f} %" for n, q in zip(names, quality, strict=True))
    picture = Picture("crowd-quality", WIDTH, step * len(names) + 6, "Right labels", told)
    for row, name in enumerate(names):
        text = f"{100 * quality[row]:.0f} % of {counted(int(n_labels[row]), 'label')}"
        _named_bar(picture, step * row, name, float(quality[row]), text)
    picture.curve([(ROOM * chance, 0), (ROOM * chance, step * len(names))], ALARM, 1.5, "4 3")
    return picture.svg()


def class_map(names, codes, plane, suspect, seed):
    """Draw the rows as dots in a plane, suspect ones as crosses; also return how many are drawn."""
    chosen = thinned(suspect, seed)
    # The outermost hundredth of the rows stands at the edge.
    low, high = np.percentile(plane[chosen], [0.5, 99.5], axis=0)
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-9)
    unit = np.clip((plane[chosen] - middle) / half, -1.06, 1.06) * [1, -1]
    spots = (unit / 1.06 * 0.5 + 0.5) * (WIDTH - 20) + 10
    # Dots at the same spot are moved a little apart, so that one sees how many there are.
    _, place, count = np.unique(np.round(spots), axis=0, return_inverse=True, return_counts=True)
    count, rng = count[place.reshape(-1)], np.random.default_rng(seed)
    angle, way = rng.uniform(0, 2 * np.pi, len(spots)), np.sqrt(rng.random(len(spots)))
    radius = np.where(count > 1, np.minimum(WIDEST_SPREAD, 2.0 * np.sqrt(count)), 0) * way
    spots = spots + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    spots = np.clip(spots, 6, WIDTH - 6)
    codes, suspect = codes[chosen], suspect[chosen]
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
    n_lines = min(len(order), len(KINDS)) + bool(suspect.any())
    top = 22 * n_lines + 8
    about = f"{len(chosen):,} rows as dots, {int(suspect.sum()):,} of them suspect and crossed"
    picture = Picture("audit-map", WIDTH, top + WIDTH, "Map of the rows", about)
    last = ""
    for rank, k in enumerate(order.tolist()):
        colour, shape = KINDS[min(rank, len(KINDS) - 1)]
        others = len(order) > len(KINDS) and rank >= len(KINDS) - 1
        if rank < len(KINDS):
            last = "other classes" if others else label(names[k])
            picture.dots([(8, 22 * rank + 11)], colour, shape, 5.0, 1.0)
            picture.text(22, 22 * rank + 16, last)
        here = (codes == k) & ~suspect
        picture.dots(spots[here] + [0, top], colour, shape, 2.4, 0.55)
    if suspect.any():
        line = 22 * (n_lines - 1)
        picture.dots([(8, line + 11)], ALARM, "cross", 5.0, 1.0)
        picture.text(22, line + 16, "suspect row", weight="600")
        picture.dots(spots[suspect] + [0, top], ALARM, "cross", 4.2, 1.0)
    picture.bar(0.5, top + 0.5, WIDTH - 1, WIDTH - 1, "none", RULE)
    return picture.svg(), len(chosen)


def thinned(suspect, seed):
    """Return the places of the rows to draw, a random choice where there are too many."""
    rng = np.random.default_rng(seed)
    marked, others = np.flatnonzero(suspect), np.flatnonzero(~suspect)
    if len(marked) > MOST_MARKED:
        marked = rng.choice(marked, MOST_MARKED, replace=False)
    room = MOST_DOTS - len(marked)
    if len(others) > room:
        others = rng.choice(others, room, replace=False)
    return np.sort(np.concatenate([marked, others]))


def drawn_words(drawn, n_rows):
    """Say that a picture shows only some of the rows, "" where it shows all."""
    few = f" {drawn:,} of {n_rows:,} rows, chosen at random, are shown (at most {MOST_DOTS:,})."
    return "" if drawn == n_rows else few


def predicted_beside_given(result):
    """Draw every row as a dot, suspects as crosses; return the picture, and how many are drawn."""
    evidence = result.evidence
    measure = evidence.judgement.measure
    chosen = thinned(result.suspect, evidence.random_state)
    across = measure.forth(result.given[chosen])
    up, suspect = measure.forth(result.suggested[chosen]), result.suspect[chosen]
    # The axes end with nearly all numbers that are not suspect, and all predictions.
    low, high = np.percentile(
        across[~suspect] if (~suspect).any() else across, [OUTER, 100 - OUTER]
    )
    low, high = min(low, up.min()), max(high, up.max())
    margin = MARGIN * (high - low) or 1.0
    low, high = low - margin, high + margin
    about = f"{len(chosen):,} rows, {int(suspect.sum()):,} of them suspect and crossed"
    size = (WIDTH, TOP + SIDE + BELOW)
    picture = Picture("audit-predicted", *size, "Predicted and given numbers", about)
    unit = np.clip((np.column_stack([across, up]) - low) / (high - low), 0.0, 1.0)
    spots = np.array([LEFT, TOP + SIDE]) + unit * [SIDE, -SIDE]
    # The frame, the line on which predictions are right, and a few numbers at both axes
    picture.bar(LEFT, TOP, SIDE, SIDE, "none", RULE)
    picture.line(LEFT, TOP + SIDE, LEFT + SIDE, TOP, MUTED)
    wanted, ends = (
        measure.back(np.linspace(low, high, TICKS + 2)),
        measure.back(np.array([low, high])),
    )
    for digits in range(1, 7):
        ticks = sorted({float(f"{value:.{digits}g}") for value in wanted[1:-1]})
        if len(ticks) == TICKS:
            break
    last = -np.inf
    for value in ticks:
        if not ends[0] <= value <= ends[1]:
            continue
        at, text = (
            SIDE * float(measure.forth(np.array([value]))[0] - low) / (high - low),
            number_text(value),
        )
        picture.line(LEFT - 4, TOP + SIDE - at, LEFT, TOP + SIDE - at, MUTED)
        picture.text(LEFT - 8, TOP + SIDE - at + 4, text, "end", fill=MUTED)
        picture.line(LEFT + at, TOP + SIDE, LEFT + at, TOP + SIDE + 4, MUTED)
        if at - last >= APART:
            picture.text(LEFT + at, TOP + SIDE + 18, text, "middle", fill=MUTED)
            last = at
    name = label(result.target, 24)
    picture.text(LEFT + SIDE / 2, TOP + SIDE + 39, f"{name} as given", "middle")
    picture.text(LEFT, TOP - 10, f"{name} as predicted from the other columns")
    picture.dots(spots[~suspect], CALM, "circle", 2.4, 0.5)
    picture.dots(spots[suspect], ALARM, "cross", 4.2, 1.0)
    picture.dots([(LEFT + 6, 12)], CALM, "circle", 4.0, 1.0)
    picture.text(LEFT + 18, 17, "a row")
    if suspect.any():
        picture.dots([(LEFT + 86, 12)], ALARM, "cross", 5.0, 1.0)
        picture.text(LEFT + 98, 17, "suspect row", weight="600")
    return picture.svg(), len(chosen)
