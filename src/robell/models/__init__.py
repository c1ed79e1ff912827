"""The classifiers, one short file each."""
