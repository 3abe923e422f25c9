"""The checkpoint of the journal in the OpenAPI document."""

from __future__ import annotations

from comptroller.routes import CHECKPOINT_PATH

from openapi.components import header_parameters, headers, refusals, security
from openapi.schemas import Schema, reference


def paths() -> dict[str, Schema]:
    """Returns the path of the checkpoint."""
    return {
        CHECKPOINT_PATH: {
            "get": {
                "operationId": "journal_checkpoint",
                "tags": ["journal"],
                "summary": "Returns the size and the root of the journal, signed.",
                "description": "An addition to the interface. The checkpoint is a C2SP "
                "tlog-checkpoint.",
                "parameters": [*header_parameters()],
                "responses": {
                    "200": {
                        "description": "The checkpoint.",
                        "headers": headers(),
                        "content": {"application/json": {"schema": reference("Checkpoint")}},
                    },
                    **refusals([]),
                },
                "security": security(["journal:read", "operator:read"]),
            }
        }
    }
