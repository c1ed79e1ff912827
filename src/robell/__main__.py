"""``python -m robell`` is the command ``robell``."""

import sys

from robell.cli import main

sys.exit(main())
