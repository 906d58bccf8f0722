"""The pictures of the live view in docs/images: ``python -m tests.screenshots``."""

import re
import subprocess
import sys
from pathlib import Path

from tests import browser as real

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
SIZE = {"width": 1280, "height": 800}
ROWS = 6500


def main():
    """Watch the demo for half a minute, and photograph it in light and dark."""
    command = [sys.executable, "-m", "driftmap", "watch", "--demo", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+", process.stderr.readline())[0]
        with real.running() as browser:
            for theme, name in (("light", "live.png"), ("dark", "live_dark.png")):
                page = browser.new_page(viewport=SIZE, color_scheme=theme)
                page.goto(address)
                status = page.locator(".status")
                while int(re.sub(r" rows.*|\D", "", status.inner_text()) or 0) < ROWS:
                    page.wait_for_timeout(200)
                page.locator(".map").press("n")
                page.wait_for_timeout(600)
                page.screenshot(path=IMAGES / name)
                page.close()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
