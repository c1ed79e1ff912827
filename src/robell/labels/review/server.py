"""The review of a long list of rows: a page served to this machine alone, which asks and learns.

Every decision is written to the review file at once, the whole file or nothing of it, and the rows
that are left are judged again (:mod:`robell.labels.reviewed`). The file is the same that the
page of an audit saves and ``robell apply`` takes, and a review goes on from it. While it is open,
another process that would write to it is refused.
"""

from __future__ import annotations

import csv
import hmac
import io
import json
import os
import secrets
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from robell._tools.files import FileError, check_output, lock_alone, write_atomically
from robell._tools.text import counted, said, spreadsheet_plain, visible, writable
from robell.labels.audit.cards import MOST_CARDS, packed, review_of
from robell.labels.review.review import (
    CHANGE,
    DROP,
    KEEP,
    WORDS,
    Decision,
    Spellings,
    in_letters,
    read_review,
    same_label,
)
from robell.labels.review.sources import same_column
from robell.labels.reviewed import JudgedAgain
from robell.report.page import Paragraph, Review, Section, render
from robell.tables.numerals import spells_number

HOST = "127.0.0.1"
IDLE = 3600.0  # seconds without a request, after which the server ends
SKIP = "skip"
MOST_BYTES = 1 << 20  # of a request
LONGEST_NOTE = 300
MOST_JUDGED = 20_000  # rows, besides those that are shown, by which labels are judged again
HEADER = ("row", "line", "given", "suggested", "decision", "note", "target", "fingerprint")


class ReviewDesk:
    """The decisions about the rows of an audit, kept in a file, and what they say of the others."""

    def __init__(self, result, path):
        self.result, self.path = result, Path(path)
        if result.trust == "none":
            raise FileError(
                f"{visible(result.name)}: the columns say too little about "
                f"{said(result.target)} to know which rows to ask about"
            )
        self.shown = result.order[:MOST_CARDS]
        self.cards = review_of(result, result._card_parts(), self.shown, self.path)
        rows, prints = self.cards["row"], self.cards["print"]
        self.place = {f"{row}-{p}": k for k, (row, p) in enumerate(zip(rows, prints, strict=True))}
        self.ids = list(self.place)
        self.classes = {one["written"]: k for k, one in enumerate(self.cards["classes"])}
        self.made: dict[int, dict[str, Any]] = {}
        self.others: list[Decision] = []  # about rows that are not shown
        self.version, self.changed = 0, dict.fromkeys(self.ids, 0)
        self.lock = threading.Lock()
        self.again = None
        if result._kind == "classes":
            evidence = result.evidence
            rng = np.random.default_rng(evidence.random_state)
            some = rng.permutation(len(result.row))[:MOST_JUDGED]
            self.judged = np.union1d(self.shown, some)
            self.again = JudgedAgain(
                evidence.view[self.judged],
                evidence.codes[self.judged],
                result.probability[self.judged],
                evidence.random_state,
            )
        if self.path.exists():
            self._take_file()
        else:
            self._write()

    def _text(self, name, k):
        return self.cards[name]["texts"][self.cards[name]["codes"][k]]

    # -- the file

    def _take_file(self):
        """Go on with a review that is there; one of something else is refused."""
        review = read_review(self.path)
        is_mine = same_column(review.target, self.result.target)
        if review.table != self.cards["table"] or not is_mine:
            raise FileError(
                f"{self.path}: is a review of another table, of another column or of another "
                "version of the table; give another name with --out"
            )
        for one in review.decisions:
            k = self.place.get(f"{one.row}-{in_letters(one.print)}")
            if k is None:
                self.others += [one] if one.word else []
                continue
            if not same_label(one.given, self._text("given_written", k)):
                raise FileError(
                    f"{self.path}: line {one.line}: row {one.row} has another label now"
                )
            if one.word:
                label = self._spelt(one.label) if one.word == CHANGE else None
                self._set(k, {"word": one.word, "label": label, "note": one.note})

    def _write(self):
        """Write all decisions to the file, whole."""
        cards, numbers, rows = self.cards, self.result._number, []
        for k in range(len(self.ids)):
            made = self.made.get(k, {})
            word, given = made.get("word"), self._text("given_written", k)
            label = made["label"] if word == CHANGE else self._text("suggested_written", k)
            word = word if word in WORDS else ""
            known = cards["row"][k], cards["number"][k], given, label, word, made.get("note", "")
            rows.append((*known, cards["print"][k]))
        for one in self.others:
            at = np.flatnonzero(self.result.row == one.row)  # none of a class too small to judge
            line, label = numbers[at[0]] if len(at) else "", one.label if one.word == CHANGE else ""
            known = one.row, line, one.given, label, one.word, one.note
            rows.append((*known, in_letters(one.print)))
        header = [name for name in HEADER if self.result.line is not None or name != "line"]
        stream, target = io.StringIO(), cards["target"]["written"]
        writer = csv.DictWriter(stream, header, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for *first, print_ in rows:
            cells = *first, target, f"{cards['table']}-{print_}"
            writer.writerow(dict(zip(HEADER, cells, strict=True)))
        write_atomically(self.path, stream.getvalue())

    # -- decisions

    def take(self, sent, after):
        """Take decisions over, all of them or none, and return what is new since a version."""
        with self.lock:
            for id_, _ in sent:
                if id_ not in self.place:
                    raise FileError(f"there is no row {id_!s:.40} in this review")
            checked = [(self.place[id_], self._checked(id_, made)) for id_, made in sent]
            before = dict(self.made)
            for k, made in checked:
                self._set(k, made)
            if checked:
                try:
                    self._write()
                except FileError:
                    for k, _ in checked:
                        self._set(k, before.get(k))
                    raise
            own = {id_ for id_, _ in sent}
            news = [
                [id_, self._state(self.place[id_])]
                for id_, version in self.changed.items()
                if version > after and id_ not in own
            ]
            return {"version": self.version, "made": news, **self._judged()}

    def state(self):
        """Return the cards with all that is decided."""
        with self.lock:
            made = [[self.ids[k], self._state(k)] for k in sorted(self.made)]
            return {**self.cards, "server": True, "made": made, "version": self.version,
                    **self._judged()}  # fmt: skip

    def _state(self, k):
        made = self.made.get(k)
        return made and {**made, "given": self._text("given_written", k)}

    def _checked(self, id_, made):
        """Return a decision as it came from a page, None where it was taken back."""
        if made is None:
            return None
        given = self._text("given_written", self.place[id_])
        word, label, note = made.get("word"), made.get("label"), made.get("note") or ""
        if word not in (KEEP, CHANGE, DROP, SKIP) or not isinstance(note, str):
            raise FileError("the decision is none of keep, change, drop and skip")
        note = " ".join(writable(note).split())[:LONGEST_NOTE]
        sequence = made.get("sequence")
        if sequence is not None and type(sequence) is not int:
            raise FileError("the sequence of the decision is no whole number")
        if word == CHANGE:
            if not isinstance(label, str) or same_label(label, given):
                raise FileError("a label is to be changed to another one")
            label = self._spelt(label)
        label = label if word == CHANGE else None
        return {"word": word, "label": label, "note": note, "sequence": sequence}

    def _spelt(self, label):
        """Return how the table spells a label; raise where it has no such label."""
        if not self.classes:
            if not spells_number(spreadsheet_plain(label), self.result.evidence.table.delimiter):
                raise FileError(f"{label[:30]!r} is not a number")
            return label
        return Spellings(list(self.classes)).spelt(label, visible(self.result.name))

    def _set(self, k, made):
        """Keep a decision, or take it back, and let the other rows be judged by it."""
        if made is None:
            self.made.pop(k, None)
        else:
            self.made[k] = {**made, "sequence": made.get("sequence") or len(self.made) + 1}
        self.version += 1
        self.changed[self.ids[k]] = self.version
        if self.again is None:
            return
        row = int(np.searchsorted(self.judged, self.shown[k]))
        word = made and made["word"]
        if word in WORDS:
            own = int(self.again.codes[row])
            right = own if word == KEEP else self.classes.get(made["label"])  # none if dropped
            self.again.decide(row, right)
        else:
            self.again.forget(row)

    def _judged(self):
        """Return the rows in the order in which to ask, and how probably each is wrong."""
        if self.again is None:
            return {}
        order, doubt = self.again.order()
        card = np.full(len(doubt), -1)
        places = np.searchsorted(self.judged, self.shown)
        card[places] = np.arange(len(places))
        order = card[order]
        return {"order": order[order >= 0].tolist(), "doubt": doubt[places].round(4).tolist()}

    @property
    def n_decided(self):
        """How many rows are decided upon."""
        return sum(made["word"] in WORDS for made in self.made.values()) + len(self.others)

    def page(self):
        """Return the page that asks."""
        words = self.result._words
        again = "; after each decision the others are judged again" if self.again else ""
        text = (
            f"{counted(len(self.shown), 'row')}, the {words.text('thing')}s to ask about first at "
            f"the top{again}. {words.text('how_to_judge')}"
        )
        review = Review(packed(self.state()), visible(self.path.name), is_served=True)
        section = Section("suspects", "Rows to check", (Paragraph(text), review))
        title = f"Review of {visible(self.result.name)[:60]}"
        return render(title, self.result._question, [section])


@contextmanager
def only_writer(path):
    """Keep other processes from writing to a review; a killed process lets go of it."""
    check_output(path)
    beside = path.with_name(f".{path.name}.lock")
    try:
        file = os.open(beside, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise FileError(f"{beside}: cannot be written: {error.strerror}") from error
    try:
        if not lock_alone(file):
            raise FileError(f"{path}: another robell review is writing to it; end that one first")
        try:
            yield
        finally:
            with suppress(OSError):
                beside.unlink()
    finally:
        os.close(file)


class ReviewServer(ThreadingHTTPServer):
    """Serves one review on the loopback address, to whoever knows the token in the address."""

    daemon_threads = True

    def __init__(self, desk, port=0):
        self.desk, self.token, self.last = desk, secrets.token_urlsafe(18), time.monotonic()
        self.has_ended = False
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise FileError(
                f"port {port} cannot be used: {error.strerror}; leave --port out for a free one"
            ) from error
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def address(self):
        """The address to open in a browser of this machine."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def serve(self, idle=IDLE):
        """Answer until nobody has asked for so many seconds."""
        thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            while time.monotonic() - self.last < idle:
                time.sleep(min(0.2, idle))
        finally:
            self.has_ended = True  # for connections that are open still
            self.shutdown()
            with self.desk.lock:  # a decision that has come is written
                self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers requests for the page, and takes decisions."""

    server: ReviewServer
    timeout = 30
    server_version, sys_version = "robell", ""

    def do_GET(self):
        """Send the page."""
        if self._is_allowed(""):
            self._send(200, self.server.desk.page(), "text/html")

    def do_POST(self):
        """Take decisions, and answer what is new."""
        size = self.headers.get("Content-Length", "")
        is_short = size.isascii() and size.isdigit() and int(size) <= MOST_BYTES
        body = self.rfile.read(int(size)) if is_short else b""  # or a refusal would not arrive
        if not self._is_allowed("decisions"):
            return
        try:
            asked = json.loads(body)
            sent = [(str(id_), made) for id_, made in asked["made"]]
            if not all(made is None or isinstance(made, dict) for _, made in sent):
                raise ValueError
            after = int(asked["after"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            self._send(400, "these are no decisions")
            return
        try:
            found = self.server.desk.take(sent, after)
        except FileError as error:
            self._send(409, " ".join(str(error).split()))
            return
        self._send(200, json.dumps(found), "application/json")

    def _is_allowed(self, name):
        """Say whether a request is for this review, from a page of it; refuse any other."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        path = self.path.encode("utf-8", "replace")
        asked = f"/{self.server.token}/{name}".encode()
        is_own = host in self.server.hosts and origin in (None, f"http://{host}")
        if is_own and hmac.compare_digest(path, asked):
            if not self.server.has_ended:
                self.server.last = time.monotonic()
                return True
            self._send(503, "robell review has ended")
            return False
        self._send(403, "refused: open the address that robell review has printed")
        return False

    def _send(self, status, text, kind="text/plain"):
        data = text.encode("utf-8", "replace")
        self.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": len(data),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Content-Security-Policy": "frame-ancestors 'none'",
        }
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        with suppress(OSError):  # the browser may have gone
            self.wfile.write(data)

    def log_message(self, *_):
        """Say nothing of requests."""
