"""Put the results of studies into docs/all-studies.md, between the comments that name them.

python docs/make_benchmark_tables.py [FOLDER]

With a folder, such as benchmarks/results, the files of the studies that the page names are first copied from there to
docs/results.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
PAGE, FOLDER = DOCS / "all-studies.md", DOCS / "results"
PLACE = re.compile(r"<!-- results: (?P<name>[\w-]+) -->\n.*?<!-- end of results -->", re.DOTALL)
ENDINGS = (".csv", ".md", ".json", ".svg", "-trace.svg", "-setup.svg")


def filled(page: str) -> str:
    """Return the page with the tables as they are in docs/results."""

    def table(place: re.Match[str]) -> str:
        name = place["name"]
        text = (FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()
        return f"<!-- results: {name} -->\n\n{text}\n\n<!-- end of results -->"

    return PLACE.sub(table, page)


def copy_from(folder: Path, page: str) -> None:
    """Copy the files of every study that the page names."""
    FOLDER.mkdir(exist_ok=True)
    for place in PLACE.finditer(page):
        for ending in ENDINGS:
            file = folder / f"{place['name']}{ending}"
            if file.exists():
                shutil.copyfile(file, FOLDER / file.name)


def main() -> None:
    """Copy what there is, and fill the page."""
    page = PAGE.read_text(encoding="utf-8")
    if len(sys.argv) > 1:
        copy_from(Path(sys.argv[1]), page)
    PAGE.write_text(filled(page), encoding="utf-8")


if __name__ == "__main__":
    main()
