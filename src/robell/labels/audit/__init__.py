"""An audit of the labels of a raw table: which are probably wrong, and how far to trust that."""

from robell.labels.audit.annotators import AnnotatorAudit
from robell.labels.audit.classes import AuditResult
from robell.labels.audit.numbers import NumberAuditResult
from robell.labels.audit.run import audit, audit_annotators
from robell.tables.columns import ColumnNote

__all__ = [
    "AnnotatorAudit",
    "AuditResult",
    "ColumnNote",
    "NumberAuditResult",
    "audit",
    "audit_annotators",
]
