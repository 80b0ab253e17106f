"""Files given to be read: regular files on this computer, and nothing else.

Libraries that read tables also fetch addresses, wait at pipes and fill the memory from devices. Whoever reads a file
asks here first.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/")
"""http://, s3:// and the like; one letter is a drive. `Path` makes one slash of two."""


def why_not_readable(path: Path) -> str | None:
    """Say why a path cannot be read as a file, None if it can.

    Examples
    --------
    >>> why_not_readable(Path("https://example.org/table.csv"))
    'is an address, and only files on this computer are read: download it first'
    >>> why_not_readable(Path("no-such-file.csv"))
    'file not found'
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if _ADDRESS.match(str(path)):
            return "is an address, and only files on this computer are read: download it first"
        return "file not found"
    except ValueError:  # a NUL in the name
        return "file not found"
    except OSError as error:  # a loop of links, a name that is too long, a folder that may not be entered
        return f"cannot be opened: {error.strerror}"
    if stat.S_ISDIR(mode):
        return "this is a folder, not a file"
    if not stat.S_ISREG(mode):
        return "this is a pipe or a device, not a regular file: save the table to a file first"
    return None
