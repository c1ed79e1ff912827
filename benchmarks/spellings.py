"""One table written as people write and plainly: what a model can learn from each.

    python benchmarks/spellings.py --seeds 6

Claims of ``tests/raw_tables.py`` (currencies, units, decimal commas, another minus, dates with
two-digit years, times, spellings of a level) are encoded by TableEncoder; a logistic regression is
fitted to the true labels, and its area under the ROC curve is that of five folds.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import raw_tables

from robell.tables.encoder import TableEncoder
from robell.tables.read import read_table


def area(text, target, y):
    """Return the area under the ROC curve, and the kinds of the columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_text(text)
        table = read_table(path, target)
    columns = [column for column in table.columns if column.name != target]
    encoder = TableEncoder()
    encoder._fit_columns(columns, table.rows, table.delimiter, None)
    X = encoder._transform_columns(columns)
    model = LogisticRegression(C=0.1, max_iter=2000)
    kinds = [note.kind for note in encoder.notes_]
    return cross_val_score(model, X, y, scoring="roc_auc", cv=5).mean(), kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--rows", type=int, default=1500)
    options = parser.parse_args()
    areas = {"as people write it": [], "plainly": []}
    for seed in range(options.seeds):
        raw = raw_tables.claims(seed, options.rows)
        for way, text in zip(areas, (raw.text, raw.plain), strict=True):
            found, kinds = area(text, raw.target, raw.right == "yes")
            areas[way].append(found)
            print(
                seed, way, f"{found:.3f}", {kind: kinds.count(kind) for kind in sorted(set(kinds))}
            )
    for way, found in areas.items():
        print(f"{way}: {np.mean(found):.3f}")


if __name__ == "__main__":
    main()
