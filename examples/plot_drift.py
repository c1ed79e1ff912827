"""
Two branches begin to write cents
=================================

A model is saved with a description of its training columns, and no row of it. When new rows come,
:func:`robell.files.describe_drift` compares. In February two of four branches of an insurer enter
amounts in cents. Every cell is a valid number, nothing fails, and the model would predict calmly.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from robell import fit_table
from robell.files import describe_drift, model_info, save_model

here = Path(__file__).parent if "__file__" in globals() else Path.cwd()
sys.path.insert(0, str(here / "tables"))
import claims  # noqa: E402

folder = Path(tempfile.mkdtemp())
claims.main(folder)
past, january, february = (
    pd.read_csv(folder / f"{name}.csv").drop(columns="received")
    for name in ("claims", "january", "february")
)
fitted = fit_table(past, "fraud", budget=0.1)
save_model(fitted.model, folder / "model.skops", X=past.drop(columns="fraud"))
info = model_info(folder / "model.skops")
for name, month in (("January", january), ("February", february)):
    print(f"{name}:", *(describe_drift(info, month).lines or ["nothing has moved"]), sep="\n  ")

# %%
# The amounts of the three tables, and what share of the rows would be flagged.


def amounts(table):
    """Return the amounts as numbers."""
    return np.array([float(str(cell).replace(",", "")) for cell in table["amount"]])


figure, axes = plt.subplots(3, 1, figsize=(8, 5.6), layout="constrained", sharex=True)
bins = np.geomspace(50, 5e6, 70)
tables = {"training": past, "January": january, "February": february}
for axis, (name, table), colour in zip(
    axes, tables.items(), ("#6b7785", "#3b6ea5", "#d1495b"), strict=True
):
    axis.hist(amounts(table), bins, color=colour, weights=np.full(len(table), 1 / len(table)))
    flagged = np.mean(fitted.model.predict(table.drop(columns="fraud", errors="ignore")) == "yes")
    axis.set_title(f"{name}: {flagged:.0%} flagged", loc="left", color=colour, fontsize=11)
    axis.set(xscale="log", yticks=[])
    axis.spines[["top", "right", "left"]].set_visible(False)
axes[-1].set_xlabel("amount")
plt.show()
