"""The operations: one file per noun. Importing this package fills the registry, in the order of names."""

import importlib
import pkgutil

from graphmem.registry import REGISTRY

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
_by_name = sorted(REGISTRY.items())
REGISTRY.clear()
REGISTRY.update(_by_name)
