"""An audit of the labels of a table: which rows probably carry a wrong one."""

from robell.labels.audit.run import AuditResult, audit
from robell.tables.columns import ColumnNote

__all__ = ["AuditResult", "ColumnNote", "audit"]
