"""What every room needs: progress bars, optional packages, files written whole, near names."""
