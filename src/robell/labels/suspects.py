"""A ranked list of suspect rows, whether labels or numbers are suspect: as text and as a frame."""

from __future__ import annotations

from itertools import islice

from robell._tools.optional import require

SHOWN = 10  # rows of a printed list


class SuspectRows:
    """Suspect rows, the most suspect first, and the quality of all rows.

    A kind names in ``_columns`` its arrays with one entry for each suspect row, ``index`` first,
    and ``_words`` makes a line of one entry of each.
    """

    def __len__(self):
        return len(self.index)

    def __str__(self):
        lines = [f"{len(self)} of {len(self.sample_quality)} rows are suspect"]
        rows = zip(*(getattr(self, name) for name in self._columns), strict=True)
        lines += [self._words(*row) for row in islice(rows, SHOWN)]
        if len(self) > SHOWN:
            lines.append(f"... and {len(self) - SHOWN} more")
        return "\n".join(lines)

    def to_frame(self):
        """Return the suspect rows as a pandas data frame.

        Returns
        -------
        frame : pandas.DataFrame
            A column for each of the arrays that have one entry for each suspect row, from
            ``index`` to ``quality``.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from robell import find_label_issues
        >>> X, y = load_wine(return_X_y=True)
        >>> y[5] = 2
        >>> find_label_issues(X, y, random_state=0).to_frame()["index"].tolist()[:1]
        [5]
        """
        pandas = require("pandas", extra="files")
        return pandas.DataFrame({name: getattr(self, name) for name in self._columns})
