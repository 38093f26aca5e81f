"""Runs `python -m jsonschemabench`."""

import sys

from jsonschemabench.main import main

if __name__ == "__main__":
    sys.exit(main())
