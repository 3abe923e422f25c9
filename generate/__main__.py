"""Generates modules of the package from the core's description and the registry of reports.

`make generate` runs it with the package installed. The argument is the folder of the package.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import description
import openapi
import operations
import records
import reports


def modules() -> dict[str, str]:
    """Returns every generated module by its path in the package."""
    core = description.read()
    return {
        "values.py": records.values_module(core),
        "records.py": records.records_module(core),
        "route_table.py": operations.routes_module(core),
        **{f"analysis/reports/{name}.py": text for name, text in reports.modules().items()},
        "http/openapi.json": json.dumps(openapi.document(), ensure_ascii=False, indent=1) + "\n",
        "operations/__init__.py": operations.package_module(core),
        "async_operations/__init__.py": operations.async_package_module(core),
        **{
            f"operations/{resource.name}.py": operations.resource_module(core, resource)
            for resource in core.resources
        },
        **{
            f"async_operations/{resource.name}.py": operations.async_resource_module(core, resource)
            for resource in core.resources
        },
    }


def main(package: Path) -> None:
    """Writes the modules that differ from the existing files."""
    for path, text in modules().items():
        place = package / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_text() != text:
            place.write_text(text)
            print(f"wrote {place}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
