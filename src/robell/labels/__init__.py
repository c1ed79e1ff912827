"""Labels judged, and labels made wrong on purpose."""
