"""The real Claude Code client for live tests: ``python -m hookrouter.testing.client install VERSION`` fetches one."""

import sys

from hookrouter._sandbox.client import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
