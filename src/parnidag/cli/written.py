"""Files that a command reads and writes: refused before hours are spent, if they cannot be."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from parnidag._util.files import why_not_readable, why_not_writable
from parnidag.cli.screens import UsageError, say

if TYPE_CHECKING:
    from parnidag.results.posterior import Posterior


def demo_report_path() -> Path:
    """Return where the demo writes its report: here, or in the folder for temporary files if that cannot be written."""
    return Path("" if os.access(Path(), os.W_OK) else tempfile.gettempdir(), "parnidag-demo.html")


def check_report(path: Path | None, *others: Path | None, option: str = "--report") -> None:
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{option} {path}: the report is an HTML file, so name it *.html")
    check_writable(option, path, *others)


def deliver_report(posterior: Posterior, path: Path, show: bool, title: str) -> None:
    written = posterior.report(path, title=title)
    say(f"Report: {written}")
    if show and not webbrowser.open(written.resolve().as_uri()):
        say("No browser could be started here: open the file yourself.")


def check_readable(path: Path) -> None:
    problem = why_not_readable(path)
    if problem is not None:
        raise UsageError(f"{path}: {problem}")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path} may not be read: permission denied")


def check_writable(option: str, path: Path | None, *others: Path | None) -> None:
    """Refuse a file that cannot be written, or that another option of this command names too."""
    if path is None:
        return
    problem = why_not_writable(path)
    if problem is not None:
        raise UsageError(f"{option} {path}: {problem}")
    if path.resolve() in [other.resolve() for other in others if other is not None]:
        raise UsageError(f"{option} {path} would overwrite another file of this command")
