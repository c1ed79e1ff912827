"""Wrong labels: found in a table, judged, and made on purpose."""
