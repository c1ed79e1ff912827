"""An audit of the labels of a table: which rows probably carry a wrong one."""

from robell.audit._audit import AuditResult, audit
from robell.audit._columns import ColumnNote

__all__ = ["AuditResult", "ColumnNote", "audit"]
