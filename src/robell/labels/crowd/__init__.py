"""An audit of a table that several annotators have labelled: consensus, and whom to trust."""

from robell.labels.crowd.result import AnnotatorAudit
from robell.labels.crowd.run import audit_annotators

__all__ = ["AnnotatorAudit", "audit_annotators"]
