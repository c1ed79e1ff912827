"""What every room needs: progress, optional packages."""
