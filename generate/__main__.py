"""Generates modules and tables of the documentation from the core's description and the reports.

`make generate` runs it with the package installed. The arguments are the folders of the package
and of the documentation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import description
import openapi
import operations
import pages
import records
import reports
from comptroller.operations import webhooks


def modules(core: description.Description) -> dict[str, str]:
    """Returns every generated module by its path in the package."""
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
        "async_operations/webhooks.py": operations.async_webhooks_module(
            Path(webhooks.__file__).read_text(encoding="utf-8")
        ),
    }


def main(package: Path, docs: Path) -> None:
    """Writes the files that differ from the existing ones."""
    core = description.read()
    generated = {
        **{package / path: text for path, text in modules(core).items()},
        **{docs / path: text for path, text in pages.pages(core).items()},
    }
    for place, text in generated.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_text() != text:
            place.write_text(text)
            print(f"wrote {place}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
