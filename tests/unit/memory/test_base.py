"""Scopes: written into a mark, and read back."""

import pytest

from roost.core.errors import InvalidInput
from roost.core.ids import UserId
from roost.memory.base import Scope, parse_scope


def test_a_scope_is_read_back_as_it_was_written() -> None:
    scope = Scope("builtin", "work-2", UserId("usr_1"))
    assert str(scope) == "builtin/work-2/usr_1"
    assert parse_scope(str(scope)) == scope


@pytest.mark.parametrize(
    "text",
    ["", "builtin", "builtin/default", "builtin/default/", "a/b/c/d", "A/b/c", "a/ /c", "//"],
)
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="provider/profile/user"):
        parse_scope(text)
