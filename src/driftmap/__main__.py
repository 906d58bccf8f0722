"""``python -m driftmap`` is the command ``driftmap``."""

from driftmap.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
