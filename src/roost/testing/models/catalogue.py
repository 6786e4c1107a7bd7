"""The list of models, as each vendor writes it."""

from collections.abc import Mapping

from roost.testing.models.prompt import Json

Models = Mapping[str, Mapping[str, object]]
"""Their names, and what else there is to say about each."""

DEFAULT: Models = {"scripted": {}}
_CREATED = 1_767_225_600
_CREATED_TEXT = "2026-01-01T00:00:00Z"


def catalogue(models: Models, headers: Mapping[str, str]) -> Json:
    if "anthropic-version" in headers:
        return _anthropic(models)
    data = [
        {"id": name, "object": "model", "created": _CREATED, "owned_by": "roost"} | dict(more)
        for name, more in models.items()
    ]
    return {"object": "list", "data": data}


def _anthropic(models: Models) -> Json:
    data = [
        {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": _CREATED_TEXT,
            "lifecycle": "active",
        }
        | dict(more)
        for name, more in models.items()
    ]
    names = [*models, None]
    return {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-2]}
