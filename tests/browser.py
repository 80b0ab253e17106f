"""A real browser for tests: headless Chromium, driven by selenium. Nothing is downloaded to get it.

Where there is no browser, tests are skipped; with PARNIDAG_REQUIRE_BROWSER=1 in the environment they fail instead.
"""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

REQUIRE = "PARNIDAG_REQUIRE_BROWSER"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVERS = ("chromedriver", "chromium.chromedriver")
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
)
OWN_SCHEMES = ("file:", "data:", "blob:", "about:")


def first_program(names):
    return next((found for name in names if (found := shutil.which(name))), None)


def missing():
    """Say what a browser test lacks here; an empty string if nothing."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    for what, names in (("browser", BROWSERS), ("driver", DRIVERS)):
        if first_program(names) is None:
            return f"no {what}: none of {', '.join(names)} is on the path"
    return ""


class Browser:
    """One window: opens files, plays devices, and remembers what the pages asked for and complained about."""

    def __init__(self, folder):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        self.downloads = Path(folder) / "downloads"
        self.downloads.mkdir()
        options = webdriver.ChromeOptions()
        options.binary_location = first_program(BROWSERS)
        for argument in (*ARGUMENTS, f"--user-data-dir={Path(folder) / 'profile'}"):
            options.add_argument(argument)
        options.add_experimental_option(
            "prefs", {"download.default_directory": str(self.downloads), "download.prompt_for_download": False}
        )
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(first_program(DRIVERS)))

    def open(self, path, *, width=1280, height=900, dark=False):
        """Open a file on a screen of this size and colour scheme, with nothing left of what was open before."""
        self.driver.get("about:blank")
        self.emulate(width=width, height=height, dark=dark)
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(Path(path).resolve().as_uri())
        return self

    def emulate(self, *, width=1280, height=900, dark=False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        # motion is slow to test, and whoever asks for less of it must get less
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, still]})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def press(self, *keys):
        """Press keys one after the other, wherever the focus is."""
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(key).perform()

    def complaints(self):
        """What the page wrote to the console since it was opened, warnings included."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]

    def requests_outside(self):
        """Addresses that the page, or a frame of it, asked for and that are not its own.

        What pages of the browser itself load (a new tab, settings) does not count.
        """
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        requests = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        asked = [sent["request"]["url"] for sent in requests if not sent["documentURL"].startswith("chrome:")]
        assert asked, "the log of requests is empty: it does not work"
        return [address for address in asked if not address.startswith(OWN_SCHEMES)]

    def downloaded(self, name, seconds=10):
        """Wait for a file to arrive; take it away and return its bytes."""
        target = self.downloads / name
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if target.exists() and target.stat().st_size and not list(self.downloads.glob("*.crdownload")):
                content = target.read_bytes()
                target.unlink()
                return content
            time.sleep(0.05)
        raise AssertionError(f"{name} was not downloaded within {seconds} s")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all tests of a module that import this fixture."""
    reason = missing()
    if reason and os.environ.get(REQUIRE) == "1":
        pytest.fail(f"{REQUIRE}=1, but {reason}")
    if reason:
        pytest.skip(reason)
    started = Browser(tmp_path_factory.mktemp("browser"))
    yield started
    started.driver.quit()
