"""An audit of the labels of a raw table: which are probably wrong, and how far to trust that."""

from robell.labels.audit.numeric_result import NumberAuditResult
from robell.labels.audit.result import AuditResult
from robell.labels.audit.run import audit
from robell.tables.columns import ColumnNote

__all__ = ["AuditResult", "ColumnNote", "NumberAuditResult", "audit"]
