"""The OpenAPI description says what is required and what is refused, as the service reads it."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from graphmem.api import openapi
from graphmem.arguments import read
from graphmem.errors import InvalidInput
from graphmem.registry import REGISTRY
from tests.support.oauth_flow import VERIFIER

FORM = "application/x-www-form-urlencoded"


def body(path: str, media_type: str = "application/json") -> dict[str, Any]:
    """Return the schema of the body of a POST."""
    content = openapi.document()["paths"][path]["post"]["requestBody"]["content"]
    return content[media_type]["schema"]


def is_described(schema: dict[str, Any], value: Any) -> bool:
    whole = {**schema, "components": openapi.document()["components"]}
    return Draft202012Validator(whole).is_valid(value)


def is_read(operation: str, arguments: dict[str, Any]) -> bool:
    try:
        read(REGISTRY[operation].arguments, operation, arguments)
    except InvalidInput:
        return False
    return True


@pytest.mark.parametrize(
    ("entity_type", "is_taken"),
    [("person", True), ("Sales-Order", True), ("sales order", True), (" person ", True), ("a" * 64, True),
     ("a" * 65, False), ("1st", False), ("../etc", False), ("person;", False), ("größe", False), ("", False),
     ("-a", False), ("_a", False)],
)  # fmt: skip
def test_the_pattern_of_types_is_that_of_the_service(entity_type: str, is_taken: bool) -> None:
    for arguments in ({"filters": {"entity_type": entity_type}}, {"entity_type": entity_type}):
        assert is_described(body("/entities/query"), arguments) is is_taken
        assert is_read("entities.query", arguments) is is_taken


@pytest.mark.parametrize(
    ("value", "is_taken"), [(True, True), (False, True), (0, True), (1, True), (2, False), ([], False)]
)
def test_a_boolean_is_described_as_it_is_read(value: Any, is_taken: bool) -> None:
    arguments = {"include_deleted": value}
    assert is_described(body("/list_relationships"), arguments) is is_taken
    assert is_read("relationships.list", arguments) is is_taken
    (parameter,) = [
        each
        for each in openapi.document()["paths"]["/relationships"]["get"]["parameters"]
        if each["name"] == "include_deleted"
    ]
    assert is_described(parameter["schema"], value) is is_taken


def test_a_cursor_beside_an_offset_is_described_as_refused() -> None:
    schema = body("/entities/query")
    for arguments, is_taken in (
        ({"cursor": "x"}, True), ({"offset": 5}, True), ({"cursor": "x", "offset": 0}, True),
        ({"cursor": None, "offset": 5}, True), ({"cursor": "x", "offset": 5}, False),
    ):  # fmt: skip
        assert is_described(schema, arguments) is is_taken
    parameters = openapi.document()["paths"]["/relationships"]["get"]["parameters"]
    (cursor,) = [each for each in parameters if each["name"] == "cursor"]
    assert "Not beside `offset`" in cursor["description"]


@pytest.mark.parametrize(
    ("path", "media_type", "good", "bad"),
    [
        ("/mcp/oauth/token", FORM, {"grant_type": "refresh_token", "refresh_token": "r"},
         {"refresh_token": "r"}),
        ("/mcp/oauth/token", FORM,
         {"grant_type": "authorization_code", "code": "c", "code_verifier": VERIFIER},
         {"grant_type": "authorization_code"}),
        ("/mcp/oauth/token", "application/json", {"code": "c"}, {"grant_type": "password", "code": "c"}),
        ("/mcp/oauth/register", "application/json", {"redirect_uris": ["https://a.example/cb"]},
         {"redirect_uris": []}),
        ("/mcp/oauth/initiate", "application/json",
         {"auth_provider": "local", "redirect_uri": "https://a.example/cb", "code_challenge": "a" * 43},
         {"auth_provider": "local", "redirect_uri": "https://a.example/cb", "code_challenge": "abc"}),
        ("/mcp/oauth/consent", FORM, {"request": "r", "csrf": "c", "decision": "deny"}, {"decision": "deny"}),
    ],
)  # fmt: skip
def test_the_parameters_of_oauth_are_described(
    path: str, media_type: str, good: dict[str, Any], bad: dict[str, Any]
) -> None:
    assert is_described(body(path, media_type), good)
    assert not is_described(body(path, media_type), bad)


def test_the_bytes_of_a_file_may_be_of_any_media_type() -> None:
    for path in ("/sources/{source_id}/content", "/signed_file"):
        answers = openapi.document()["paths"][path]["get"]["responses"]
        assert {"text/plain", "*/*"} <= answers["200"]["content"].keys()
        assert {"text/plain", "*/*"} <= answers["206"]["content"].keys()
