"""A review that is applied leaves every byte alone that no decision touches."""

import pytest

from robell import apply_review, audit


def reviewed(folder, rows, end, label):
    """Write a table whose last row is doubtful, and a review that changes its label."""
    table = folder / "plants.csv"
    table.write_bytes("\n".join(["height,plant", *rows, "12,moss"]).encode() + end)
    frame = audit(table, "plant").to_frame()
    frame.loc[0, ["suggested", "decision"]] = label, "change"
    frame.to_csv(folder / "reviewed.csv", index=False)
    return table, folder / "reviewed.csv", folder / "clean.csv"


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n\n", b"\r\n\r\n\n"])
def test_blank_lines_at_the_end_stay(tmp_path, end):
    rows = [f"{k % 7 + 9 * (k % 2)},{'fern' if k % 2 else 'moss'}" for k in range(80)]
    table, review, out = reviewed(tmp_path, rows, end, "fern")
    apply_review(table, review, out)
    assert out.read_bytes() == table.read_bytes().replace(b"12,moss", b"12,fern")


def test_a_label_of_two_lines_is_known_as_a_result_of_its_review(tmp_path):
    """The log's first decision goes over two lines: the result may still be written again."""
    rows = [f"{k % 7 + 9 * (k % 2)}," + ('"fe\nrn"' if k % 2 else "moss") for k in range(80)]
    table, review, out = reviewed(tmp_path, rows, b"\n", "fe\nrn")
    first = apply_review(table, review, out)
    before = out.read_bytes()
    assert apply_review(table, review, out) == first
    assert out.read_bytes() == before
    assert before.endswith(b'12,"fe\nrn"\n')
