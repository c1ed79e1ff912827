"""
Wrong labels of texts
=====================

Texts become columns of numbers (TF-IDF, shortened by an SVD), and any classifier on these columns
can judge their labels: :func:`robell.find_label_issues` makes its probabilities on folds, so that
no text is judged by a model that has seen it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import find_label_issues
from robell.noise import flip_labels

# %%
# Six hundred complaints of a shop's customers, of three kinds, put together from phrases; some
# words occur in all of them. One label in eight is made wrong.

PHRASES = {
    "delivery": [
        "the parcel never arrived",
        "it came two weeks late",
        "the driver left the box in the rain",
        "tracking says delivered but nothing is here",
        "the package went to the wrong address",
        "nobody rang the bell",
    ],
    "billing": [
        "i was charged twice",
        "the invoice shows the wrong amount",
        "my card was debited without consent",
        "the refund has not been paid",
        "the discount is missing on the bill",
        "the total does not match the price",
    ],
    "quality": [
        "the zip broke on the first day",
        "the colour faded after one wash",
        "there is a scratch on the screen",
        "the seam came apart",
        "it stopped working after an hour",
        "the material feels cheap",
    ],
}
COMMON = [
    "please help me",
    "this is the second time",
    "i am very disappointed",
    "i want my money back",
    "order number follows",
    "the service did not answer",
]

rng = np.random.default_rng(0)
kinds = np.array(list(PHRASES))[rng.integers(3, size=600)]
texts = []
for kind in kinds:
    other = rng.choice(list(PHRASES))  # one phrase may be about anything
    said = [*rng.choice(PHRASES[kind], 2, replace=False), rng.choice(PHRASES[other])]
    said += list(rng.choice(COMMON, 2, replace=False))
    texts.append(", ".join(rng.permutation(said)))
given, wrong = flip_labels(kinds, 0.125, random_state=1)
print(texts[0], "->", given[0])

# %%
# The columns are made without the labels, so they can be made once, before the folds.

columns = make_pipeline(
    TfidfVectorizer(sublinear_tf=True), TruncatedSVD(40, random_state=0), StandardScaler()
).fit_transform(texts)
by_logistic = find_label_issues(
    columns, given, estimator=LogisticRegression(C=0.1, max_iter=1000), random_state=0
)
by_robell = find_label_issues(columns, given, random_state=0)
for name, issues in (("logistic regression", by_logistic), ("robell", by_robell)):
    right = wrong[issues.index].mean()
    print(f"{name}: {len(issues)} suspects, {right:.0%} of them wrong, of {wrong.sum()} in all")
worst = by_robell.index[0]
print(f"{texts[worst]!r} is labelled {given[worst]}, rather {by_robell.suggested_label[0]}")

# %%
# Going through the list from the top: how many of the rows looked at are wrong, and how many of
# the wrong ones have been found.

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, issues, colour in (
    ("robell's own networks", by_robell, "#d1495b"),
    ("logistic regression", by_logistic, "#3b6ea5"),
):
    precision, recall, _ = precision_recall_curve(wrong, 1 - issues.sample_quality)
    ax.plot(recall, precision, color=colour, label=name)
ax.axhline(wrong.mean(), color="grey", linestyle=":", label="rows in any order")
ax.set(
    xlabel="share of the wrong labels found",
    ylabel="share of the rows looked at that are wrong",
    title="Wrong labels of 600 short texts",
    ylim=(0, 1.05),
)
ax.legend(loc="lower left")
plt.show()
