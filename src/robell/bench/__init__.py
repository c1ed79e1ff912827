"""The study: plan, execute, store, statistics, tables, plots, report."""
