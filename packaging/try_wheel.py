"""Build wheel and source archive twice, compare them to the bit, and try the wheel in an environment of its own.

    python packaging/try_wheel.py [--out dist]

Builds what is in the folder above. The empty environment gets the wheel, its dependencies and nothing else; commands
run in another folder, so that nothing of the clone can be used by mistake. With --out the two files are kept there.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOME_DAY = "1704067200"
"""The time that files in the archives get where SOURCE_DATE_EPOCH does not say it."""

SMALL_TABLE = "x,y,z\n" + "\n".join(f"{k % 7},{(3 * k) % 11},{k % 7 + (3 * k) % 11 + k % 3}" for k in range(60)) + "\n"

IMPORT_ALL = (
    "import parnidag, sys; names = [getattr(parnidag, name) for name in parnidag.__all__]; "
    "sys.exit(0 if 'site-packages' in parnidag.__file__ else f'imported {parnidag.__file__}')"
)


def build(folder: Path) -> dict[str, str]:
    """Build wheel and source archive into a folder; return their hashes."""
    environment = {"SOURCE_DATE_EPOCH": SOME_DAY, **os.environ}
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)],
        env=environment,
        check=True,
    )
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    tools = folder.with_name("tools")
    if not tools.exists():
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tools), *backend], check=True
        )
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(folder)],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(tools)},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def try_in_empty_environment(wheel: Path, folder: Path) -> None:
    """Install a wheel and its dependencies, import every public name, and ask a small question on the command line."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "empty")], check=True)
    scripts = folder / "empty" / ("Scripts" if os.name == "nt" else "bin")
    environment: Mapping[str, str] = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    run(str(scripts / "python"), "-m", "pip", "install", "--quiet", "--no-compile", str(wheel))
    run(str(scripts / "python"), "-c", IMPORT_ALL)
    (folder / "small.csv").write_text(SMALL_TABLE, encoding="utf-8")
    print(run(str(scripts / "parnidag"), "--version").strip())
    asked = ["sample", "small.csv", "--kind", "continuous", "--seed", "1", "--report", "small.html"]
    said = run(str(scripts / "parnidag"), *asked)
    if "Exact" not in said or "<html" not in (folder / "small.html").read_text(encoding="utf-8"):
        raise SystemExit(f"the installed command does not answer:\n{said}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="keep the wheel and the source archive here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hashes = [build(folder / turn) for turn in ("first", "second")]
        if hashes[0] != hashes[1]:
            raise SystemExit(f"two builds differ: {hashes[0]} and {hashes[1]}")
        for file, digest in hashes[0].items():
            print(f"{digest}  {file}")
        (wheel,) = (folder / "first").glob("*.whl")
        try_in_empty_environment(wheel, folder)
        if options.out is not None:
            shutil.copytree(folder / "first", options.out, dirs_exist_ok=True)
    print("the same twice, and it works in an empty environment")


if __name__ == "__main__":
    main()
