"""The audit of a target of numbers: every number judged, the evidence gathered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robell._tools.files import FileError
from robell.labels.audit.numeric_result import NumberAuditResult, NumberEvidence
from robell.labels.audit.prepare import (
    dropped_notes,
    fewer_rows,
    judging_bytes,
    nothing_left,
    prepare_columns,
)
from robell.labels.audit.reasons import reasons_of_numbers, with_reasons
from robell.labels.audit.reviewed import confirmed_rows
from robell.labels.judge_numbers import judge_numbers
from robell.labels.target_issues import COVERAGE
from robell.labels.trust_numbers import expected_wrong, measure_number_trust
from robell.tables.leaks import find_number_leak
from robell.tables.number_target import read_number_target

SCORES_A_ROW = 60  # numbers that are held for every row while it is judged


def audit_numbers(table, place, drop, random_state, budget, asked_for):
    """Judge the numbers of the column at a place by the other columns but those dropped."""
    target = read_number_target(table, place)
    audited, name = table.take(target.kept), table.columns[place].name
    left_out = {*drop, name}
    features = [column for column in audited.columns if column.name not in left_out]

    def leak_of(prepared):
        return find_number_leak(prepared, target.values)

    used, notes, leaks = prepare_columns(audited, features, leak_of, budget)
    notes += dropped_notes(drop)
    if not used:
        raise FileError(nothing_left(table.name, notes))
    n_columns = sum(column.matrix.shape[1] for column in used)
    fewer = fewer_rows(table, len(audited.rows), n_columns, random_state)
    if fewer is not None:
        return audit_numbers(fewer, place, drop, random_state, budget, asked_for)
    budget.require(table.name, judging_bytes(len(audited.rows), n_columns, SCORES_A_ROW))
    matrix = np.column_stack([column.matrix for column in used])
    judgement = judge_numbers(matrix, target.values, np.ones(len(matrix)), random_state)
    trust = measure_number_trust(judgement, matrix.shape)
    if trust.word == "none":
        judgement = replace(judgement, suspect=np.zeros(len(matrix), bool))
    cells = np.array(audited.columns[place].cells, dtype=object)
    evidence = NumberEvidence(
        name,
        audited,
        used,
        matrix,
        target,
        cells,
        judgement,
        trust,
        leaks,
        len(table.rows),
        random_state,
        asked_for,
    )
    return _result(table, evidence, notes)


def finish(result, prints, decided):
    """Return the result with fingerprints, reviews of before, and the reasons of its suspects."""
    result = replace(result, fingerprint=prints)
    confirmed = confirmed_rows(decided, prints, result.evidence.cells)
    if confirmed.any():
        judgement = result.evidence.judgement
        judgement = replace(
            judgement,
            quality=np.where(confirmed, 1.0, judgement.quality),
            suspect=judgement.suspect & ~confirmed,
        )
        result = replace(
            result,
            quality=judgement.quality,
            suspect=judgement.suspect,
            noise_rate=judgement.noise_rate,
            expected_wrong=expected_wrong(result.trust, judgement),
            reviewed=confirmed,
            evidence=replace(result.evidence, judgement=judgement),
        )
    return with_reasons(result, reasons_of_numbers)


def _result(table, evidence, notes):
    judgement, rows = evidence.judgement, evidence.table.rows
    bounds = judgement.intervals(COVERAGE)
    return NumberAuditResult(
        name=table.name,
        target=evidence.name,
        n_rows=table.n_rows,
        row=rows,
        line=evidence.table.lines,
        given=judgement.given,
        suggested=judgement.predicted,
        lower=bounds[:, 0],
        upper=bounds[:, 1],
        quality=judgement.quality,
        suspect=judgement.suspect,
        noise_rate=judgement.noise_rate,
        expected_wrong=evidence.trust.expected_wrong,
        explained=evidence.trust.explained,
        trust=evidence.trust.word,
        leaks=tuple(leak.name for leak in evidence.leaks),
        n_unlabelled=sum(evidence.target.unlabelled.values()),
        columns=notes,
        reviewed=np.zeros(len(rows), bool),
        fingerprint=np.full(len(rows), "", object),
        evidence=evidence,
    )
