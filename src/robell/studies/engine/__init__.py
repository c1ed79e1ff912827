"""Jobs, store, processes, statistics; knows no study."""
