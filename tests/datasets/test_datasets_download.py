"""Downloads, against a local server that answers as UCI and OpenML do, and worse."""

import hashlib
import http.server
import json
import socket
import threading
import warnings

import numpy as np
import pytest

from robell._tools.files import FileError
from robell.datasets import (
    DatasetError,
    DatasetUnavailable,
    available,
    download,
    info,
    load,
    paper_names,
)
from robell.datasets._registry import find
from robell.datasets.sources import fetch as _fetch
from robell.datasets.sources import keel as _keel
from robell.datasets.sources.cache import cache_file, cache_folder, write_cached

UCI_HABERMAN = "/uci/haberman/haberman.data"


class Site:
    """Answers by path: bytes, a status, or a function of the handler; a list gives one a time."""

    def __init__(self):
        self.answers, self.asked = {}, []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                site.asked.append(self.path)
                answer = site.answers.get(self.path, 404)
                if isinstance(answer, list):
                    answer = answer.pop(0) if len(answer) > 1 else answer[0]
                if callable(answer):
                    answer(self)
                    return
                status, body = (200, answer) if isinstance(answer, bytes) else (answer, b"no")
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.released = threading.Event()
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def openml(self, number, content, **changes):
        """Publish an ARFF file as OpenML does."""
        path = f"/data/v1/download/{number}"
        description = {
            "id": str(number),
            "format": "ARFF",
            "url": self.address + path,
            "md5_checksum": hashlib.md5(content).hexdigest(),
            "default_target_attribute": "class",
        } | changes
        body = json.dumps({"data_set_description": description}).encode()
        self.answers[f"/openml/{number}"] = body
        self.answers[path] = content


@pytest.fixture
def site(monkeypatch):
    site = Site()
    monkeypatch.setattr(_fetch, "UCI", site.address + "/uci/{}")
    monkeypatch.setattr(_fetch, "OPENML", site.address + "/openml/{}")
    yield site
    site.released.set()
    site.server.shutdown()
    site.server.server_close()


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Only the local server, an empty cache, no pauses."""
    monkeypatch.setenv("ROBELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ROBELL_OFFLINE", raising=False)
    monkeypatch.setattr(_keel, "is_installed", lambda: False)
    monkeypatch.setattr(_fetch, "PAUSE_SECONDS", 0.001)


def haberman_lines(n_rows=306, n_died=81):
    """Made-up patients, as many as the real ones."""
    return [f"{30 + i % 50},{58 + i % 12},{i % 40},{2 if i < n_died else 1}" for i in range(n_rows)]


def haberman_file(*args):
    return "\n".join(haberman_lines(*args)).encode() + b"\n"


def haberman_arff():
    header = ["% made up", "@RELATION 'hab er'", "@attribute age numeric", "@ATTRIBUTE 'the year'"]
    header[-1] += f" {{{','.join(str(year) for year in range(58, 70))}}}"
    header += ["@attribute nodes INTEGER", "", "@attribute class {1,2}", "@DATA"]
    return "\n".join(header + haberman_lines()).encode()


# What arrives, and what is kept


def test_a_download_is_checked_cached_and_found_again(site, tmp_path):
    site.answers[UCI_HABERMAN] = haberman_file()
    first = load("haberman")
    assert first.source == "UCI haberman.data"
    assert first.X.shape == (306, 3)
    assert first.y.sum() == 81
    assert first.feature_names == find("haberman").features
    assert not first.paper_rows
    assert first.note == "Size and class counts are those of the paper's set, values differ."
    assert available()["haberman"] == "cache"
    again = load("haberman", download=False)
    assert again.digest == first.digest
    assert (again.source, again.note) == (first.source, first.note)
    assert site.asked == [UCI_HABERMAN]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["haberman.csv"]


def test_download_goes_past_the_other_sources_and_replaces_the_cache(site, tmp_path):
    site.answers[UCI_HABERMAN] = haberman_file()
    where = tmp_path / "elsewhere"
    download("haberman", cache_dir=where)
    download("haberman", cache_dir=where)
    assert len(site.asked) == 2
    assert load("haberman", cache_dir=where, download=False).source == "UCI haberman.data"
    with pytest.raises(DatasetUnavailable):
        load("haberman", download=False)


def test_openml_is_asked_where_uci_has_nothing(site):
    site.openml(43, haberman_arff())
    dataset = load("haberman")
    assert dataset.source == "OpenML 43"
    assert dataset.X[0].tolist() == [30, 58, 0]
    assert site.asked[0] == UCI_HABERMAN


def test_row_numbers_and_ignored_attributes_are_no_inputs(site):
    lines = haberman_arff().decode().splitlines()
    start = lines.index("@DATA")
    lines = [
        *lines[:2],
        "@attribute id string",
        "@attribute doctor string",
        *lines[2 : start + 1],
        *(f"'no. {i}, left',\"Dr. O'Hara\",{line}" for i, line in enumerate(lines[start + 1 :])),
    ]
    content = "\n".join(lines).encode()
    site.openml(43, content, row_id_attribute="id", ignore_attribute=["doctor"])
    assert load("haberman").X[1].tolist() == [31, 59, 1]


def test_class_one_is_put_first_where_the_papers_counts_need_it(site):
    header = [f"@attribute V{i} {{0,1}}" for i in range(1, 8)] + ["@attribute class {0,1,3}"]
    rows = [f"{i % 2},0,1,0,0,1,0,{1 if i >= 406 else 0}" for i in range(443)]
    rows += ["1,1,1,1,1,1,1,3"] * 57
    site.openml(40496, "\n".join(["@relation led", *header, "@data", *rows]).encode())
    dataset = load("led7digit-0-2-4-5-6-7-8-9_vs_1")
    assert dataset.y.tolist() == [1] * 37 + [0] * 406


# What does not arrive as it should


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_passing_failure_is_tried_again(site, status):
    site.answers[UCI_HABERMAN] = [status, status, haberman_file()]
    assert load("haberman").source == "UCI haberman.data"
    assert site.asked == [UCI_HABERMAN] * 3


def test_a_lasting_failure_is_reported_for_every_origin(site):
    site.answers[UCI_HABERMAN] = 503
    with pytest.raises(DatasetUnavailable) as caught:
        load("haberman")
    message = str(caught.value)
    assert "UCI haberman.data" in message
    assert "HTTP status 503 (3 tries)" in message
    assert "OpenML 43" in message
    assert "HTTP status 404" in message
    assert "give a data directory with haberman.csv" in message
    assert site.asked == [UCI_HABERMAN] * 3 + ["/openml/43"]


def cut_off(handler):
    body = haberman_file()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[:1000])


def test_a_truncated_body_is_tried_again_and_never_used(site):
    site.answers[UCI_HABERMAN] = [cut_off, haberman_file()]
    assert load("haberman").X.shape == (306, 3)
    site.answers[UCI_HABERMAN] = cut_off
    with pytest.raises(DatasetUnavailable, match=r"cut off after 1000 bytes \(3 tries\)"):
        download("haberman")


def test_a_silent_server_is_given_up(site, monkeypatch):
    monkeypatch.setattr(_fetch, "TIMEOUT_SECONDS", 0.05)
    site.answers[UCI_HABERMAN] = lambda handler: site.released.wait(10)
    with pytest.raises(DatasetUnavailable, match=r"timed out \(3 tries\)"):
        load("haberman")


def test_a_dripping_server_is_given_up(site, monkeypatch):
    monkeypatch.setattr(_fetch, "TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr(_fetch, "TRIES", 1)

    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        while not site.released.wait(0.02):
            try:
                handler.wfile.write(b"1")
            except OSError:
                return

    site.answers[UCI_HABERMAN] = drip
    with pytest.raises(DatasetUnavailable, match="too slow"):
        load("haberman")


def test_an_endless_file_is_given_up_at_once(site, monkeypatch):
    monkeypatch.setattr(_fetch, "MAX_BYTES", 1000)
    site.answers[UCI_HABERMAN] = haberman_file()
    with pytest.raises(DatasetUnavailable, match="more than 1000 bytes"):
        load("haberman")
    assert site.asked.count(UCI_HABERMAN) == 1


def test_nobody_listening_is_reported(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/{{}}"
    monkeypatch.setattr(_fetch, "UCI", address)
    monkeypatch.setattr(_fetch, "OPENML", address)
    with pytest.raises(DatasetUnavailable, match="refused"):
        load("echocardiogram")


def test_a_wrong_checksum_is_refused(site):
    site.openml(43, haberman_arff(), md5_checksum="0" * 32)
    with pytest.raises(DatasetUnavailable, match=r"MD5 sum .* 0{32} was announced"):
        load("haberman")


@pytest.mark.parametrize(
    "description",
    [b"<html>", b"[]", b"{}", b'{"data_set_description": {"url": "x"}}', b"\xff"],
)
def test_a_description_that_is_none_is_refused(site, description):
    site.answers["/openml/43"] = description
    with pytest.raises(DatasetUnavailable, match="not a description of a data set"):
        load("haberman")


def test_only_web_addresses_are_opened(site, tmp_path):
    secret = tmp_path / "secret.arff"
    secret.write_bytes(haberman_arff())
    site.openml(43, haberman_arff(), url=secret.as_uri())
    with pytest.raises(DatasetUnavailable, match="is not a web address"):
        load("haberman")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (haberman_file(305), "305 rows, 3 columns and 81 rows of class 1 where the set has 306, 3"),
        (haberman_file(306, 80), "80 rows of class 1 where the set has 306, 3 and 81"),
        (haberman_file().replace(b"30,58,0,2", b"30,58,?,2"), r"row 1: '\?' was not expected"),
        (haberman_file().replace(b"30,58,0,2", b"30,58,inf,2"), "row 1: 'inf' was not expected"),
        (b"<html><body>We have moved</body></html>", "was not expected|different lengths"),
        (haberman_file() + b"1,2,3,4,1\n", "rows of different lengths"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "no rows"),
    ],
)
def test_a_table_that_disagrees_with_the_register_is_refused(site, content, message, tmp_path):
    site.answers[UCI_HABERMAN] = content
    with pytest.raises(DatasetUnavailable, match=message):
        load("haberman")
    assert not (tmp_path / "cache").exists()


# The cache


def test_a_changed_cache_file_is_refused(site):
    site.answers[UCI_HABERMAN] = haberman_file()
    load("haberman")
    path = cache_file("haberman")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"30,58,0,1", b"31,58,0,1"))
    with pytest.raises(DatasetError, match="does not have the checksum it states; delete it"):
        load("haberman")
    path.write_bytes(content[:-40])
    with pytest.raises(DatasetError, match="does not have the checksum"):
        load("haberman", download=False)
    path.write_bytes(content.partition(b"\n")[2])
    with pytest.raises(DatasetError, match="does not begin with its checksum"):
        load("haberman")


def test_a_failed_write_leaves_nothing_and_costs_nothing(site, tmp_path, monkeypatch):
    site.answers[UCI_HABERMAN] = haberman_file()
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.warns(UserWarning, match="nothing was cached"):
        assert load("haberman", cache_dir=blocked).X.shape == (306, 3)

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(FileError, match="cannot be written: no space is left"):
        write_cached(tmp_path / "new" / "x.csv", np.ones((2, 1)), np.array([0, 1]), ("a",), "s")
    assert list((tmp_path / "new").iterdir()) == []


def test_writers_at_once_leave_one_whole_file(tmp_path):
    X, y = np.arange(2000.0).reshape(1000, 2), np.arange(1000) % 2
    path = cache_file("haberman", tmp_path)
    work = [
        threading.Thread(target=write_cached, args=(path, X, y, ("a", "b"), f"writer {i}"))
        for i in range(8)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert load("haberman", cache_dir=tmp_path, download=False).X.shape == (1000, 2)
    assert [entry.name for entry in tmp_path.iterdir()] == ["haberman.csv"]


def test_where_the_cache_is(monkeypatch, tmp_path):
    assert cache_folder("given").name == "given"
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("ROBELL_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "robell"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "robell"


# OpenML's files


def test_quoted_names_and_missing_values_of_openml(site):
    """The set's own codes: any vote is -1, none is 0."""
    header = [f"@ATTRIBUTE 'it\\'s, vote {i}' {{n, 'y'}}" for i in range(16)]
    rows = [f"y,'n',?{',n' * 13},{'democrat' if i < 267 else 'republican'}" for i in range(435)]
    lines = ["% votes", "@RELATION 'a b'", *header, "@attribute class {democrat,republican}"]
    site.openml(56, "\n".join([*lines, "@DATA", "% rows", *rows]).encode())
    found = load("congressional_voting")
    assert found.source == "OpenML 56"
    assert found.X[0].tolist() == [-1, -1, 0] + [-1] * 13


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"1,2,3,4,5", r"OpenML 43.*line 9"),
        (b"30,58,x,1", r"OpenML 43.*line 9"),
        (b"'open,58,0,1", r"OpenML 43.*line 9"),
        (b"", "no rows"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_malformed_files_of_openml_are_refused(site, data, message):
    header = haberman_arff().partition(b"@DATA\n")[0] + b"@DATA\n"
    site.openml(43, header + data)
    with pytest.raises(DatasetUnavailable, match=message):
        load("haberman")
    site.openml(43, b"<html>We have moved</html>")
    with pytest.raises(DatasetUnavailable, match=r"OpenML 43.*line 1"):
        load("haberman")


# The real tables, written as the sites write them


def _plain(separator, labels):
    return lambda cells, y, i: separator.join([*cells, labels[y]])


def _vote(cells, y, i):
    return ",".join(
        [("democrat", "republican")[y], *("?" if c == "0" else "yn"[i % 2] for c in cells)]
    )


def _echo(cells, y, i):
    gap = ["?" if float(c) == 0 and j not in (1, 9) else c for j, c in enumerate(cells)]
    return ",".join([str(i), str(y), *gap[:8], "name", *gap[8:]])


def _hungarian(cells, y, i):
    return ",".join([*cells[:11], "?", "?" if cells[11] == "0" else cells[11], str(y)])


def _promoter(cells, y, i):
    return f"{'+-'[y]},S{i},\t\t{''.join(' acgt'[int(c)] for c in cells)}"


def _ionosphere(cells, y, i):
    return ",".join([cells[0], "0", *cells[1:], "gb"[y]])


def _named(labels):
    return lambda cells, y, i: "  ".join([f"P{i}_ECOLI", *cells, labels[y]])


SITES = {
    "checkerboard_Data": (_plain(" ", "01"), []),
    "cleve": (_plain(",", "03"), ["63.0,1,1,145,233,1,2,150,0,2.3,3,?,6.0,2"] * 6),
    "cmc": (_plain(",", "21"), []),
    "congressional_voting": (_vote, []),
    "conn_bench_sonar_mines_rocks": (_plain(",", "MR"), []),
    "echocardiogram": (_echo, [",?,?,77,?,?,?,?,?,2,?,name,2,?"]),
    "ecoli0137vs26": (_named(("cp", "pp")), ["X_ECOLI 0.1 0.2 0.3 0.4 0.5 0.6 0.7 omL"]),
    "ecoli2": (_named(("imU", "pp")), []),
    "fertility": (_plain(",", "NO"), []),
    "haberman": (_plain(",", "12"), []),
    "haberman_survival": (_plain(",", "12"), []),
    "heart_hungarian": (_hungarian, []),
    "heart-stat": (_plain(" ", "12"), []),
    "iono": (_ionosphere, []),
    "ionosphere": (_ionosphere, []),
    "molec_biol_promoter": (_promoter, []),
    "yeast-0-2-5-7-9_vs_3-6-8": (_named(("CYT", "ME1")), ["A 1 2 3 4 5 6 7 8 NUC"]),
}


def test_every_set_with_a_raw_file_is_tried():
    origins = {name: find(name).origins for name in paper_names()}
    assert set(SITES) == {n for n, o in origins.items() if o and isinstance(o[0].address, str)}


@pytest.mark.parametrize("name", SITES)
def test_a_raw_file_becomes_the_papers_table(site, data_dir, name):
    expected = load(name, data_dir)
    write, extra = SITES[name]
    cells = [[f"{v:g}" if v == int(v) else repr(v) for v in row] for row in expected.X.tolist()]
    lines = [write(c, y, i) for i, (c, y) in enumerate(zip(cells, expected.y.tolist()))]
    # Foreign rows stand in the middle, as the broken line of echocardiogram does.
    lines[50:50] = extra
    site.answers[f"/uci/{find(name).origins[0].address}"] = "\r\n".join(lines).encode()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = load(name)
    assert found.source.startswith("UCI ")
    assert found.digest == expected.digest
    assert found.paper_rows == info(name).verdict.startswith("exact")
    assert load(name, download=False).digest == expected.digest


@pytest.mark.parametrize(("name", "label"), [("vehicle1", "saab"), ("vehicle2", "bus")])
def test_the_vehicles_come_from_openml(site, data_dir, name, label):
    expected = load(name, data_dir)
    header = [f"@attribute {feature} integer" for feature in expected.feature_names]
    header += ["@attribute class {opel,saab,bus,van}", "@data"]
    rows = [
        ",".join([*(f"{v:g}" for v in x), label if y else "van"])
        for x, y in zip(expected.X, expected.y)
    ]
    site.openml(54, "\n".join(["@relation vehicle", *header, *rows]).encode())
    found = load(name)
    assert found.digest == expected.digest
    assert found.paper_rows
