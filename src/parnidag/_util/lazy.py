"""Names of a package that are loaded when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable


def loader(package: str, homes: Iterable[str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package whose public names have these homes, each written module.Name."""
    modules = {name: module for module, _, name in (home.rpartition(".") for home in homes)}

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return load
