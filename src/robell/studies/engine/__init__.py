"""What every study needs: jobs, a store, workers, results, statistics, a report. Knows no study."""
