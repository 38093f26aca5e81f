"""In: command-line arguments. Out: the exit status of `jsonschemabench.main`."""

import sys

from jsonschemabench.main import main

if __name__ == "__main__":
    sys.exit(main())
