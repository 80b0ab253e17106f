"""What users can reach is documented: every public name, and what it has."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import parnidag

MODULES = ("samplers", "scores", "space", "metrics", "plots")


def public_names():
    """Every public function and class by its full name."""
    yield from ((f"parnidag.{name}", getattr(parnidag, name)) for name in parnidag.__all__ if name != "__version__")
    for module in MODULES:
        home = getattr(parnidag, module)
        yield from ((f"parnidag.{module}.{name}", getattr(home, name)) for name in home.__all__)


def undocumented(name, thing):
    """The name itself, and those of its public methods and properties, that say nothing."""
    found = [] if inspect.getdoc(thing) and not is_made(thing) else [name]
    if inspect.isclass(thing):
        own = {key for base in thing.__mro__ if base.__module__.startswith("parnidag") for key in vars(base)}
        for key in sorted(key for key in own if not key.startswith("_")):
            member = inspect.getattr_static(thing, key)
            says = callable(member) or isinstance(member, (property, classmethod, staticmethod))
            if says and not inspect.getdoc(getattr(thing, key)):
                found.append(f"{name}.{key}")
    return found


def is_made(thing):
    """Is the docstring the signature that dataclasses and named tuples make for those that have none?"""
    return inspect.isclass(thing) and inspect.getdoc(thing).startswith(f"{thing.__name__}(")


def test_public_names_are_documented():
    names = dict(public_names())
    assert len(names) > 50
    assert [lost for name, thing in names.items() for lost in undocumented(name, thing)] == []


def test_public_names_are_in_the_reference():
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    assert [name for name, _ in public_names() if not re.search(rf"\b{re.escape(name)}\b", page)] == []


def test_a_name_without_words_would_be_noticed():
    class Silent:
        __module__ = "parnidag.made"

        def method(self):
            pass

        @property
        def value(self):
            pass

        def _inner(self):
            pass

    assert undocumented("Silent", Silent) == ["Silent", "Silent.method", "Silent.value"]
