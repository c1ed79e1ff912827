"""The review of an audit: a person's decisions about rows, checked and applied to the table."""

from robell.labels.review.apply import AppliedReview, apply_review

__all__ = ["AppliedReview", "apply_review"]
