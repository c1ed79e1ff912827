"""Files are written whole or not at all, and near names are suggested."""

import os

import pytest

from robell._tools.files import FileError, write_atomically, written_whole
from robell._tools.text import did_you_mean


def test_a_folder_is_made_and_the_file_is_returned(tmp_path):
    path = write_atomically(tmp_path / "new" / "a.txt", "שלום\n")
    assert path.read_bytes() == "שלום\n".encode()
    assert write_atomically(path, b"\x00\x01").read_bytes() == b"\x00\x01"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]


def test_a_write_that_fails_leaves_the_old_file_whole(tmp_path, monkeypatch):
    path = write_atomically(tmp_path / "a.txt", "old")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(FileError, match=r"a\.txt: cannot be written: disk full"):
        write_atomically(path, "new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_stopped_writer_leaves_the_old_file_whole(tmp_path, error):
    path = write_atomically(tmp_path / "a.txt", "old")

    def write_half():
        with written_whole(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        write_half()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "old"


def test_a_file_where_a_folder_should_be_is_said(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        write_atomically(tmp_path / "a" / "b.txt", "")


@pytest.mark.skipif(os.name == "nt", reason="links and modes of POSIX")
def test_links_are_followed_and_permissions_are_kept(tmp_path):
    target = write_atomically(tmp_path / "deep" / "target.txt", "old")
    target.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    assert write_atomically(link, "new") == link
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    fresh = write_atomically(tmp_path / "fresh.txt", "")
    (tmp_path / "plain.txt").touch()
    assert fresh.stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


def test_near_names_are_suggested():
    assert did_you_mean("colou", ["Colour", "size"]) == "; did you mean 'Colour'?"
    assert did_you_mean("monk", ["monk1", "monk2"], quote=str) == "; did you mean monk2 or monk1?"
    assert did_you_mean("weight", ["x", "y"]) == ""
