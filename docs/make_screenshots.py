"""Take the pictures of the README from the real program: the report of the demo network, in a real browser.

python docs/make_screenshots.py

Needs Chromium and its driver, selenium and Pillow. The pictures are docs/report-light.png and docs/report-dark.png.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import parnidag
from parnidag.simulation import example_network

WIDTH, HEIGHT, SCALE = 1120, 1010, 1.5
COLOURS = 128
"""A page of text and lines needs no more, and the files stay small."""


def browser(profile: Path) -> webdriver.Chrome:
    """Start a browser without a window that asks nothing of the network."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--hide-scrollbars",
        f"--force-device-scale-factor={SCALE}",
        f"--window-size={WIDTH},{HEIGHT}",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def photograph(driver: webdriver.Chrome, page: Path, scheme: str, target: Path) -> None:
    """Save the top of the page as a reader with this colour scheme sees it."""
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": SCALE, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    driver.get(page.as_uri())
    driver.set_script_timeout(20)
    driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 300));")
    picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)


def main() -> None:
    """Sample the demo network, write its report, photograph it."""
    network = example_network()
    table = parnidag.Data(network.values, names=network.names)
    posterior = parnidag.sample(table, draws=500, seed=network.seed, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        page = posterior.report(Path(folder) / "report.html", title="The demo garden")
        driver = browser(Path(folder) / "profile")
        try:
            for scheme in ("light", "dark"):
                photograph(driver, page, scheme, Path(__file__).with_name(f"report-{scheme}.png"))
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
