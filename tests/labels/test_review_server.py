"""`robell review`: only this machine and its page get in, every decision is in the file at once."""

import csv
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager

import numpy as np
import pandas as pd
import pytest
from browser import Browser, find_chromium
from reviewer import READY

from robell import apply_review, audit
from robell._tools.files import FileError
from robell.cli.main import main
from robell.labels.audit.cards import unpacked
from robell.labels.review.server import ReviewDesk, ReviewServer, only_writer
from robell.labels.reviewed import JudgedAgain


def clouds(n=240, seed=0):
    """Rows of three classes that overlap a little, an eighth of the labels wrong."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 3, n)
    codes = np.where(rng.random(n) < 0.125, (true + rng.integers(1, 3, n)) % 3, true)
    X = rng.normal(size=(n, 4))
    X[:, :3] += 2.5 * np.eye(3)[true]
    return X, true, codes


@pytest.fixture(scope="module")
def orchard(tmp_path_factory):
    X, true, codes = clouds()
    frame = pd.DataFrame(X.round(3), columns=list("abcd"))
    frame["tree"] = np.array(["ash", "birch", "cedar"])[codes]
    path = tmp_path_factory.mktemp("orchard") / "trees.csv"
    frame.to_csv(path, index=False)
    return path, audit(path, "tree"), np.array(["ash", "birch", "cedar"])[true]


@contextmanager
def served(result, path, idle=60.0):
    desk = ReviewDesk(result, path)
    with ReviewServer(desk) as server:
        thread = threading.Thread(target=server.serve, args=(idle,), daemon=True)
        thread.start()
        yield desk, server
        server.last = -1e9
        thread.join()


def ask(server, method="POST", path="decisions", body=None, token=None, **headers):
    """Return status and answer of a request."""
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)) as to:
        to.request(method, f"/{token or server.token}/{path}", data, headers)
        with to.getresponse() as answer:
            return answer.status, answer.read().decode()


def decided(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {int(row["row"]): row for row in csv.DictReader(file) if row["decision"]}


# -- judged again --------------------------------------------------------------------------------


def test_scores_after_decisions_are_those_of_ridges_fitted_without_the_row():
    X, true, codes = clouds(60)
    P = np.full((60, 3), 0.1)
    P[np.arange(60), codes] = 0.8
    again = JudgedAgain(X, codes, P)
    first = again.score.copy()
    for row in (3, 17, 40):
        again.decide(row, int(true[row]))
    again.decide(21, None)
    T = P.copy()
    T[[3, 17, 40]] = np.eye(3)[true[[3, 17, 40]]]
    T[21] = 0.0
    # Q Q' is the hat matrix A (A'A + λI)^-1 A': with its own features, the same ridge.
    hat = again.Q @ again.Q.T
    keep = again.leverage < 0.98
    for row in np.flatnonzero(keep)[:20]:
        others = np.arange(60) != row
        # The prediction of row by the ridge on the others alone, from the kernel of the features.
        kernel = np.linalg.inv(np.eye(60) - hat + 1e-12 * np.eye(60)) @ hat
        small = kernel[np.ix_(others, others)]
        weights = np.linalg.solve(small + np.eye(59), T[others])
        np.testing.assert_allclose(
            first[row] + again.moved[row], kernel[row, others] @ weights, atol=1e-6
        )


def test_what_is_taken_back_leaves_no_trace(rng):
    X, true, codes = clouds(120)
    P = rng.dirichlet(np.ones(3), 120)
    again = JudgedAgain(X, codes, P)
    before, doubt = again.order()
    again.decide(5, int(true[5]))
    middle = again.probability()
    again.decide(9, 2)
    again.decide(9, None)
    again.forget(9)
    np.testing.assert_allclose(again.probability(), middle, atol=1e-12)
    again.forget(5)
    again.forget(7)
    np.testing.assert_array_equal(again.order()[0], before)
    np.testing.assert_allclose(again.order()[1], doubt, atol=1e-12)


def test_a_decision_judges_like_rows_too_and_quickly():
    X, true, codes = clouds(2000)
    X = np.column_stack([X, np.random.default_rng(1).normal(size=(2000, 16))])
    wrong = np.full((2000, 3), 0.1)
    wrong[np.arange(2000), codes] = 0.8
    again = JudgedAgain(X, codes, wrong)
    start = time.process_time()
    order, doubt = again.order()
    again.decide(int(order[0]), int(true[order[0]]))
    assert again.order()[0].size == 1999
    assert time.process_time() - start < 0.3
    mistakes = np.flatnonzero(true != codes)
    for row in mistakes[::2]:
        again.decide(int(row), int(true[row]))
    rest = mistakes[1::2]
    assert again.order()[1][rest].mean() > doubt[rest].mean() + 0.1


# -- the file ------------------------------------------------------------------------------------


def test_every_decision_is_in_the_file_at_once_and_apply_takes_it(orchard, tmp_path):
    source, result, true = orchard
    path = tmp_path / "trees-decisions.csv"
    with served(result, path) as (desk, server):
        version, expected = 0, {}
        for _ in range(60):
            k = desk._judged()["order"][0]
            row = int(desk.shown[k])
            label = str(true[row])
            is_right = label == result.given[row]
            made = {"word": "keep"} if is_right else {"word": "change", "label": label}
            body = {"after": version, "made": [[desk.ids[k], {**made, "note": "a\nb", "x": 1}]]}
            status, text = ask(server, body=body)
            assert status == 200
            version = json.loads(text)["version"]
            expected[row + 1] = made["word"]
            assert {row: one["decision"] for row, one in decided(path).items()} == expected
        assert decided(path)[row + 1]["note"] == "a b"
    done = apply_review(source, path, tmp_path / "clean.csv")
    clean = pd.read_csv(done.out)["tree"].to_numpy()
    rows = np.array(list(expected)) - 1
    assert (clean[rows] == true[rows]).all()
    rest = np.setdiff1d(np.arange(len(true)), rows)
    assert (clean[rest] == result.given[rest]).all()
    assert done.changed > 15


def test_a_review_goes_on_where_a_killed_process_left_it(orchard, tmp_path):
    _, result, _ = orchard
    path = tmp_path / "r.csv"
    first = ReviewDesk(result, path)
    other = {"a": "ash", "b": "birch"}
    made = {"word": "change", "label": next(v for v in other.values() if v != result.given[0])}
    at = first.ids[int(np.flatnonzero(first.shown == 0)[0])]
    first.take([[at, {**made, "note": "n"}], [first.ids[3], {"word": "drop"}]], 0)
    second = ReviewDesk(result, path)
    assert [second.made[k]["word"] for k in second.made] == [first.made[k]["word"] for k in sorted(
        first.made, key=lambda k: first.cards["row"][k])]  # fmt: skip
    np.testing.assert_allclose(second.again.probability(), first.again.probability(), atol=1e-9)
    second.take([[at, None]], 0)
    assert [row["decision"] for row in decided(path).values()] == ["drop"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_a_review_goes_on_where_a_spreadsheet_has_saved_it(
    orchard, tmp_path, monkeypatch, delimiter, encoding
):
    _, result, _ = orchard
    path = tmp_path / "r.csv"
    first = ReviewDesk(result, path)
    label = first._text("suggested_written", 1)
    made = [{"word": "keep", "note": "schön"}, {"word": "change", "label": label, "note": "für"}]
    some = [*zip(first.ids, made, strict=False), (first.ids[9], {"word": "drop"})]
    some += [(first.ids[8], made[0] | {"label": None})]
    first.take(some, 0)
    before = decided(path)
    rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    monkeypatch.setattr("robell.labels.review.server.MOST_CARDS", 5)  # rows 8 and 9 not shown
    second = ReviewDesk(result, path)
    assert [one["note"] for one in second.made.values()] == ["schön", "für"]
    assert second.n_decided == 4
    second.take([(second.ids[2], {"word": "skip"})], 0)
    after = decided(path)
    assert after.keys() == before.keys()
    for row, line in after.items():
        assert {**line, "suggested": ""} == {**before[row], "suggested": ""}
        assert line["suggested"] == before[row]["suggested"] or line["decision"] != "change"


def test_a_file_of_something_else_is_refused_and_stays(orchard, tmp_path):
    _, result, _ = orchard
    frame = result.to_frame()
    path = tmp_path / "r.csv"
    frame.assign(target="other").to_csv(path, index=False)
    before = path.read_bytes()
    with pytest.raises(FileError, match="is a review of another table, of another column"):
        ReviewDesk(result, path)
    path.write_text("notes of mine\n")
    with pytest.raises(FileError, match="no column 'row'"):
        ReviewDesk(result, path)
    assert path.read_text() == "notes of mine\n"
    assert before


def test_where_nothing_can_be_told_it_does_not_ask(tmp_path, rng):
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    result = audit(frame.assign(y=rng.integers(0, 2, 120)), "y")
    assert result.trust == "none"
    with pytest.raises(FileError, match="table: the columns say too little about 'y' to know"):
        ReviewDesk(result, tmp_path / "r.csv")
    assert list(tmp_path.iterdir()) == []


def test_numbers_are_asked_about_in_the_order_of_the_audit(tmp_path, rng):
    size = rng.uniform(30, 150, 200).round()
    price = (2000 * size + rng.normal(0, 5000, 200)).round()
    price[::25] *= 10
    frame = pd.DataFrame({"size": size, "rooms": (size / 25).round(), "price": price})
    frame.to_csv(tmp_path / "flats.csv", index=False)
    result = audit(tmp_path / "flats.csv", "price")
    desk = ReviewDesk(result, tmp_path / "r.csv")
    assert "Are the numbers in column &#x27;price&#x27; right?" in desk.page()
    assert "order" not in desk.take([[desk.ids[0], {"word": "change", "label": "98765"}]], 0)
    with pytest.raises(FileError, match="'many' is not a number"):
        desk.take([[desk.ids[1], {"word": "change", "label": "many"}]], 0)
    done = apply_review(tmp_path / "flats.csv", desk.path, tmp_path / "clean.csv")
    assert pd.read_csv(done.out)["price"][result.order[0]] == 98765


def test_a_decision_that_cannot_be_written_is_not_taken(orchard, tmp_path, monkeypatch):
    _, result, _ = orchard
    path = tmp_path / "r.csv"
    desk = ReviewDesk(result, path)
    before = path.read_bytes()

    def full(*_):
        raise FileError(f"{path}: cannot be written: no space is left")

    monkeypatch.setattr("robell.labels.review.server.write_atomically", full)
    with pytest.raises(FileError, match="no space"):
        desk.take([[desk.ids[0], {"word": "keep"}]], 0)
    assert desk.made == {}
    assert path.read_bytes() == before


def test_two_writers_are_refused(tmp_path):
    path = tmp_path / "r.csv"
    with (
        only_writer(path),
        pytest.raises(FileError, match="another robell review is writing"),
        only_writer(path),
    ):
        pass
    with only_writer(path):
        pass
    assert list(tmp_path.iterdir()) == []


# -- who gets in ---------------------------------------------------------------------------------


def test_only_the_page_itself_gets_in(orchard, tmp_path):
    _, result, _ = orchard
    path = tmp_path / "r.csv"
    with served(result, path) as (desk, server):
        body = {"after": 0, "made": [[desk.ids[0], {"word": "keep"}]]}
        before = path.read_bytes()
        refused = [
            ask(server, body=body, token="x" * 24),
            ask(server, body=body, Host="evil.example"),
            ask(server, body=body, Host=f"evil.example:{server.server_port}"),
            ask(server, body=body, Origin="http://evil.example"),
            ask(server, body=body, Origin="null"),
            ask(server, "GET", "../../etc/passwd"),
            ask(server, "GET", "", token="%C3%BC"),
        ]
        assert {status for status, _ in refused} == {403}
        for body_ in (
            b"",
            b"[",
            b'{"made": 3}',
            b'{"made": [["a", 3]], "after": 0}',
            b"x" * (2 << 20),
        ):
            try:
                status, text = ask(server, body=body_)
            except (ConnectionError, http.client.HTTPException):
                continue  # it does not read what is too long
            assert (status, text) == (400, "these are no decisions")
        for made in (
            {"word": "maybe"},
            {"word": "change", "label": "rose"},
            {"word": "change", "label": str(result.given[desk.shown[0]])},
            {"word": "keep", "note": 7},
        ):
            status, text = ask(server, body={"after": 0, "made": [[desk.ids[0], made]]})
            assert status == 409
            assert "\n" not in text
        ok = [desk.ids[1], {"word": "keep"}]
        half = {"after": 0, "made": [ok, ["7-nowhere", {"word": "keep"}]]}
        assert ask(server, body=half)[0] == 409  # all of them or none
        assert path.read_bytes() == before
        assert server.server_address[0] == "127.0.0.1"
        status, page = ask(server, "GET", "")
        assert status == 200
        policy = re.search('Content-Security-Policy" content="([^"]+)"', page)[1]
        assert "default-src 'none'" in policy
        assert "connect-src 'self'" in policy
        assert unpacked(re.search('review-data">([^<]*)<', page)[1])["cards"] == len(result.row)


def test_a_table_that_is_refused_leaves_no_file(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,y\n1,b\n")
    for name in ("t.csv", "missing.csv"):
        options = ["--target", "y", "--out", str(tmp_path / "r")]
        assert main(["review", str(tmp_path / name), *options]) == 1
        assert capsys.readouterr().err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b'{"made": [], "after": 1e999}', (400, "these are no decisions")),
        (b'{"made": [], "after": NaN}', (400, "these are no decisions")),
        (b"[" * 100_000, (400, "these are no decisions")),
        (
            {"word": "keep", "sequence": "x"},
            (409, "the sequence of the decision is no whole number"),
        ),
    ],
)
def test_odd_numbers_are_answered_too(orchard, tmp_path, body, answer):
    with served(orchard[1], tmp_path / "r.csv") as (desk, server):
        if isinstance(body, dict):
            body = {"after": 0, "made": [[desk.ids[0], body]]}
        assert ask(server, body=body) == answer


def test_many_at_once_lose_nothing(orchard, tmp_path):
    _, result, _ = orchard
    path = tmp_path / "r.csv"
    with served(result, path) as (desk, server):

        def work(part):
            for k in range(part, 60, 4):
                body = {"after": 0, "made": [[desk.ids[k], {"word": "keep"}]]}
                assert ask(server, body=body)[0] == 200

        threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        news = json.loads(ask(server, body={"after": 0, "made": []})[1])["made"]
    assert sorted(id_ for id_, _ in news) == sorted(desk.ids[:60])
    assert len(decided(path)) == 60


def test_it_ends_by_itself_and_a_port_in_use_is_said(orchard, tmp_path):
    _, result, _ = orchard
    desk = ReviewDesk(result, tmp_path / "r.csv")
    with ReviewServer(desk) as server:
        start = time.monotonic()
        server.serve(idle=0.3)
        assert time.monotonic() - start < 5
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(FileError, match=f"port {port} cannot be used: .*leave --port out"):
            ReviewServer(desk, port)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_the_command_serves_until_it_is_stopped_and_a_second_one_is_refused(orchard, tmp_path):
    source, _, _ = orchard
    command = [sys.executable, "-m", "robell", "review", str(source), "--target", "tree"]
    command += ["--out", f"{tmp_path}/", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", address)
    second = subprocess.run(command, capture_output=True, text=True)
    assert second.returncode == 1
    assert "another robell review is writing to it" in second.stderr
    assert second.stderr.count("\n") == 1
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.strip() == f"{tmp_path}/trees-decisions.csv"
    assert err == ""
    assert [path.name for path in tmp_path.iterdir()] == ["trees-decisions.csv"]


# -- in the browser ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chromium():
    executable = find_chromium()
    if executable is None:
        pytest.skip("needs Chromium: install it, or name it in CHROMIUM")
    with Browser(executable) as browser:
        yield browser


def test_the_page_writes_each_decision_asks_in_a_new_order_and_says_when_it_cannot(
    chromium, orchard, tmp_path
):
    _, result, true = orchard
    path = tmp_path / "trees-decisions.csv"
    desk_ = "document.querySelector('.review').desk"
    idle = f"!{desk_}.store.isBusy && !{desk_}.store.waiting.size"
    with served(result, path) as (desk, server):
        chromium.open(server.address)
        chromium.wait(READY)
        chromium.run("document.querySelector('.card').focus()")
        for n in range(1, 21):
            k = chromium.run(f"{desk_}.current")
            row = int(desk.shown[k])
            if true[row] == result.given[row]:
                chromium.press("k")
            else:
                chromium.press("o")
                chromium.press(true[row][0])
                chromium.press("Enter")
            chromium.wait(idle)
            assert len(decided(path)) == n
        chromium.press("u")
        chromium.wait(idle)
        assert len(decided(path)) == 19
        # What another tab decides is shown, once this one has the focus again.
        k = desk._judged()["order"][-1]
        desk.take([[desk.ids[k], {"word": "drop"}]], 0)
        chromium.run("dispatchEvent(new Event('focus'))")
        chromium.wait(f"{desk_}.made[{k}]?.word === 'drop'")
        order = chromium.run(f"{desk_}.order.filter((k) => !{desk_}.made[k])")
        judged = desk._judged()["order"]
        assert [one for one in order if one != order[0]] == [
            one for one in judged if one != order[0]
        ]
        chromium.open(server.address)  # loaded again, all of it is there
        chromium.wait(READY)
        assert chromium.run(f"{desk_}.made.filter(Boolean).length") == 20
        assert chromium.messages == []
        chromium.run("document.querySelector('.card').focus()")
    chromium.press("k")
    assert "Not written: 1 decision (robell review has ended" in chromium.wait(
        f"{desk_}.store.problem && document.querySelector('.kept').textContent"
    )
    chromium.run(f"{desk_}.isSaved = true")
