"""Names that users type: what may have been meant by one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


def did_you_mean(
    name: str, known: Iterable[str], quote: Callable[[str], str] = repr, cutoff: float = 0.6
) -> str:
    """Return ``"; did you mean 'x' or 'y'?"`` of the nearest known names, "" if none is near.

    Upper and lower case count as the same.
    """
    by_key = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(name.casefold(), by_key, n=3, cutoff=cutoff)
    return f"; did you mean {' or '.join(quote(by_key[key]) for key in near)}?" if near else ""
