"""The types of the web app are those of the API."""

from tools.api_types import FILE, types


def test_web_app_knows_the_api_as_it_is() -> None:
    assert FILE.read_text() == types(), "run make types"
