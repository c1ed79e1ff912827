"""Models compared on tables: jobs, a store, workers, statistics, a page; and ``robell.compare``."""
