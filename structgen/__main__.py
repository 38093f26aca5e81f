"""In: `python -m structgen ARGUMENTS`. Out: the same as the command `structgen ARGUMENTS`."""

import sys

from structgen.cli.main import main

sys.exit(main())
