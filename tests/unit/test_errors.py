"""The catalogue of errors: each has a code of its own, a status, an exit code and says what to do."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from graphmem import errors, tables
from graphmem.errors import (
    CATALOGUE,
    Damaged,
    EntityAmbiguous,
    GraphmemError,
    InvalidInput,
    NotFound,
    ServiceBusy,
    SetupError,
    SourceAmbiguous,
)
from tests.support.walks import walk_over


def classes(base: type[GraphmemError] = GraphmemError) -> Iterator[type[GraphmemError]]:
    """Return every class of the tree that the module defines."""
    if base.__module__ == errors.__name__:
        yield base
    for deeper in base.__subclasses__():
        yield from classes(deeper)


def test_the_catalogue_holds_every_class_that_has_a_code_of_its_own():
    assert set(CATALOGUE.values()) >= {
        error_class for error_class in classes() if "code" in vars(error_class)
    }
    assert all(error_class.code == code for code, error_class in CATALOGUE.items())
    assert len(set(CATALOGUE.values())) == len(CATALOGUE)


def test_a_code_that_is_taken_is_refused():
    with pytest.raises(TypeError, match="error code 'RESOURCE_NOT_FOUND' is taken by NotFound"):
        types.new_class("Again", (GraphmemError,), {"code": "RESOURCE_NOT_FOUND"})
    assert CATALOGUE["RESOURCE_NOT_FOUND"] is NotFound


@walk_over("error_class", list(CATALOGUE.values()))
def test_the_default_message_is_one_line_of_whole_sentences(error_class):
    message = error_class.default_message()
    assert re.fullmatch(r"[A-Z][^\n]+[^.\s]\.", message)
    assert "  " not in message
    assert str(error_class()) == message


@walk_over("error_class", list(CATALOGUE.values()))
def test_a_code_is_in_upper_snake_with_a_status_of_an_error(error_class):
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", error_class.code)
    assert 400 <= error_class.status < 600
    assert 1 <= error_class.exit_code <= 8


@walk_over("error_class", list(CATALOGUE.values()))
def test_the_exit_code_goes_with_the_status(error_class):
    by_status = {400: 2, 413: 2, 401: 3, 403: 3, 404: 4, 405: 4, 409: 5, 503: 7}
    # A script must know a name of several entities or files from a change that contradicts another.
    with_its_own = {EntityAmbiguous: 8, SourceAmbiguous: 8}
    expected = with_its_own.get(error_class, by_status.get(error_class.status, error_class.exit_code))
    assert error_class.exit_code == (6 if issubclass(error_class, SetupError) else expected)
    assert error_class.status != 500 or error_class.exit_code == 1


@walk_over("error_class", list(CATALOGUE.values()))
def test_every_error_has_the_same_envelope(error_class):
    envelope = error_class("It went wrong.", field="x").envelope("trace-1")
    assert list(envelope) == ["error_code", "message", "details", "trace_id", "timestamp"]
    assert (envelope["error_code"], envelope["message"]) == (error_class.code, "It went wrong.")
    assert envelope["trace_id"] == "trace-1"
    assert envelope["details"]["field"] == "x"
    assert envelope["details"].get("retryable", False) is error_class.retryable
    assert json.loads(json.dumps(envelope)) == envelope


def test_only_what_is_unavailable_or_limited_is_retryable():
    assert {error_class for error_class in CATALOGUE.values() if error_class.retryable} == {
        error_class
        for error_class in CATALOGUE.values()
        # What is damaged stays so until somebody mends it.
        if error_class.status in (429, 503) and not issubclass(error_class, Damaged | SetupError)
    }


def test_an_answer_about_damage_does_not_say_when_to_try_again():
    answered = {code: kind(code).answer_headers() for code, kind in CATALOGUE.items() if kind.status == 503}
    damaged = {code for code, headers in answered.items() if "Retry-After" not in headers}
    assert damaged == {code for code, kind in CATALOGUE.items() if issubclass(kind, Damaged | SetupError)}


def test_the_timestamp_is_now_in_utc():
    text = GraphmemErrorOfATest().envelope("")["timestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", text)
    assert abs(datetime.now(UTC) - datetime.fromisoformat(text.replace("Z", "+00:00"))) < timedelta(minutes=1)


class GraphmemErrorOfATest(InvalidInput): ...


def test_a_class_without_a_code_and_a_text_of_its_own_answers_with_those_above():
    envelope = GraphmemErrorOfATest().envelope("")
    assert (envelope["error_code"], envelope["message"]) == (
        InvalidInput.code, InvalidInput.default_message()
    )  # fmt: skip
    assert CATALOGUE[InvalidInput.code] is InvalidInput


def test_every_class_of_errors_has_a_text_of_its_own():
    classes = {name for name, each in vars(errors).items() if isinstance(each, type)}
    texts = {name for name in classes if issubclass(getattr(errors, name), GraphmemError)}
    assert tables.read("errors").keys() == texts


def test_the_envelope_leaves_the_details_as_they_are():
    busy = ServiceBusy(waiting=3)
    assert busy.envelope("")["details"] == {"waiting": 3, "retryable": True}
    assert busy.details == {"waiting": 3}


def test_what_wants_a_token_says_how_it_is_sent():
    assert errors.AuthRequired.headers["WWW-Authenticate"] == "Bearer"
    assert 'error="invalid_token"' in errors.AuthInvalid.headers["WWW-Authenticate"]
    assert errors.MethodNotAllowed.headers == {"Allow": "OPTIONS, POST"}
