"""What a person reads of an error."""

from __future__ import annotations

import pytest

from graphmem.cli.error_text import error_lines
from graphmem.errors import AuthRequired, GraphmemError, InvalidCursor, InvalidInput, NotFound, UnknownField
from graphmem.settings import load


def test_a_missing_token_names_the_setting() -> None:
    (line,) = error_lines(AuthRequired())
    assert "SERVICE_BEARER_TOKEN" in line
    assert "header" not in line


def test_details_stand_in_place_of_words_about_details() -> None:
    message, detail = error_lines(NotFound(entity_id="ent_1"))
    assert message == "There is no such object, or it belongs to another owner."
    assert detail == "  entity_id: ent_1"


def test_a_detail_that_the_message_has_is_not_told_again() -> None:
    assert error_lines(NotFound("there is no entity ent_1", entity_id="ent_1")) == [
        "there is no entity ent_1"
    ]


def test_an_unknown_field_is_told_with_the_fields_that_are_known() -> None:
    issues = [{"path": "$.colour", "message": "not an argument"}]
    error = UnknownField(unknown_fields=["colour"], allowed_fields=["limit", "offset"], issues=issues)
    assert error_lines(error, lambda path: path.removeprefix("$.")) == [
        "The operation has no argument of this name.",
        "  colour: not an argument",
        "  allowed_fields: limit, offset",
    ]


def test_a_wrong_cursor_is_told_once_with_the_option_of_the_command() -> None:
    issues = [{"path": "$.cursor", "message": InvalidCursor.default_message()}]
    (line,) = error_lines(InvalidCursor(issues=issues), lambda path: path.replace("$.", "--"))
    assert "give --cursor the next_cursor of the page before" in line


def test_a_path_inside_a_message_is_an_option_too() -> None:
    issues = [{"path": "$.entities[0].x-y", "message": "bad"}, {"path": "$.limit", "message": "at least 1"}]
    error = InvalidInput("nothing was stored: $.entities[0].x-y: bad (and 1 more)", issues=issues)
    assert error_lines(error, lambda path: path.replace("$.", "--")) == [
        "nothing was stored: --entities[0].x-y: bad (and 1 more)",
        "  --limit: at least 1",
    ]


def test_a_wrong_setting_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMEM_POOL_SIZE", "0")
    with pytest.raises(GraphmemError) as refused:
        load()
    assert len(error_lines(refused.value)) == 1
