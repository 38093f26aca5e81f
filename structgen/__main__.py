"""Run the command line: `python -m structgen ARGUMENTS` is `structgen ARGUMENTS`."""

import sys

from structgen.cli.main import main

sys.exit(main())
