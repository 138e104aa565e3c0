"""REST at its edges: whatever is sent, the answer is an operation's or a whole envelope, and never a 500."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from graphmem.api.app import create_app
from graphmem.context import Services
from graphmem.errors import CATALOGUE
from graphmem.registry import REGISTRY
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.walks import walk_over

ROUTES = sorted({route for operation in REGISTRY.values() for route in operation.routes})
STATUSES = {200, 201, 400, 401, 403, 404, 409, 413, 416, 429, 500, 503}
JSON = {"Content-Type": "application/json"}
Http = Callable[..., httpx.Response]


def url(path: str) -> str:
    return re.sub(r"{\w+}", "x", path)


def envelope(answer: httpx.Response) -> dict[str, Any]:
    """Return an error's envelope, after checking that all of it is there and agrees with the answer."""
    body = answer.json()
    assert set(body) == {"error_code", "message", "details", "trace_id", "timestamp"}, body
    assert answer.status_code == CATALOGUE[body["error_code"]].status
    assert answer.status_code in STATUSES | {405}
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-trace-id"] == body["trace_id"]
    assert re.fullmatch(r"[0-9a-f]{32}", body["trace_id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", body["timestamp"])
    assert body["message"]
    return body


def sender(loop: Loop, app: Any) -> Http:
    async def send(method: str, path: str, **kwargs: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http:
            return await http.request(method, path, **kwargs)

    return lambda method, path, **kwargs: loop.run(send(method, path, **kwargs))


@pytest.fixture
def http(loop: Loop, services: Services, owner: str) -> Http:
    return sender(loop, create_app(services, always(full_actor(owner))))


# Routes


@walk_over(
    "path",
    ["/nowhere", "/api", "/api/nowhere", "/apistats", "/stats/", "/stats//", "/stats/x",
     "/api/api/stats", "/STATS", "/entities/", "/entities//observations", "/entities/x/y", "/stats%00",
     "/%00", "/entities/..%2fstats", "/%ff%fe", "/%", "/stats;x=1", "/openapi.yml", "/docs", "/redoc",
     "/mcp//", "/mcp/x", "/.well-known/", "/.well-known/unknown", "/" + "x" * 9000],
)  # fmt: skip
@walk_over("method", ["GET", "POST"])
def test_an_unknown_route_is_404(http: Http, method: str, path: str) -> None:
    body = envelope(http(method, path))
    assert (body["error_code"], body["details"]["supported"]) == ("NOT_FOUND", [])


@walk_over("prefix", ["", "/api"])
@walk_over("path", sorted({path for _, path in ROUTES}))
def test_a_wrong_method_is_404_and_says_which_are_right(http: Http, path: str, prefix: str) -> None:
    same = (method for method, other in ROUTES if re.fullmatch(re.sub(r"{\w+}", "[^/]+", other), url(path)))
    right = set(same)
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "X"} - right:
        body = envelope(http(method, prefix + url(path)))
        assert body["error_code"] == "NOT_FOUND"
        assert (body["details"]["supported"], body["details"]["method"]) == (sorted(right), method)


def test_the_description_too_says_which_method_is_right(http: Http) -> None:
    assert envelope(http("POST", "/openapi.yaml"))["details"]["supported"] == ["GET"]


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
@pytest.mark.parametrize("path", ["/mcp", "/api/mcp"])
def test_mcp_takes_post_only(http: Http, method: str, path: str) -> None:
    answer = http(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "OPTIONS, POST")
    assert envelope(answer)["error_code"] == "METHOD_NOT_ALLOWED"


@pytest.mark.parametrize("path", ["/%73tats", "/api/%73%74ats", "/%61pi/stats"])
def test_an_encoded_letter_is_that_letter(http: Http, path: str) -> None:
    assert http("GET", path).json()["total_entities"] == 0


def test_an_encoded_word_in_place_of_an_id_is_an_id(http: Http) -> None:
    assert envelope(http("GET", "/entities/%6derge"))["details"] == {"entity_id": "merge"}


@pytest.mark.parametrize("text", ["%00", "%ff", "%ed%a0%80", "%e2%80%ae", "%0a", "%1b[2J", "%25", "x" * 200])
def test_an_odd_id_in_a_path_is_not_there(http: Http, text: str) -> None:
    body = envelope(http("GET", f"/entities/{text}"))
    assert (body["error_code"], list(body["details"])) == ("RESOURCE_NOT_FOUND", ["entity_id"])


def test_an_id_that_is_too_long_is_refused(http: Http) -> None:
    body = envelope(http("GET", f"/entities/{'x' * 201}"))
    assert body["details"]["issues"][0]["path"] == "$.entity_id"


@pytest.mark.parametrize(
    "query",
    ["limit=%ff", "limit=%00", "limit=1&limit=2", "=1", "%00=1", "x=1", "limit=1e3", "limit=",
     "filters=x", "filters[entity_type]=x", "entity_type=%ed%a0%80", "limit=" + "9" * 5000, "limit=١&x"],
)  # fmt: skip
def test_an_odd_query_is_refused(http: Http, query: str) -> None:
    answer = http("GET", f"/entities?{query}")
    assert envelope(answer)["error_code"] in ("VALIDATION_INVALID_FORMAT", "ERR_UNKNOWN_FIELD")


def test_the_same_argument_twice_may_say_the_same(http: Http) -> None:
    assert http("GET", "/entities?limit=1&limit=1").json()["limit"] == 1


def test_a_path_and_a_query_that_disagree_are_refused(http: Http) -> None:
    body = envelope(http("GET", "/entities/one/observations?entity_id=two"))
    assert body["details"]["issues"][0]["path"] == "$.entity_id"


# Bodies


DEEP = b'{"a":' + b"[" * 300 + b"]" * 300 + b"}"
NINES = b'{"limit": ' + b"9" * 5000


@walk_over(
    "body",
    [b"{", b"[", b"}", b"{]", b"nul", b"\xff\xfe", b"\xef\xbb\xbf{}", b"\x00", b"{'a': 1}", b'{"a": 1,}',
     b"{} {}",
     b'{"entities": NaN}', b'{"entities": [Infinity]}', b'{"entities": [-Infinity]}', b'{"a": "\\ud800"}',
     b'{"\\udfff": 1}', b'{"a": "\xed\xa0\x80"}', b'{"a": "\xc0\xaf"}', b'{"a": "\x01"}', b'{"a": "\\u12"}',
     b'{"limit": 01}', b'{"limit": +1}', b'{"limit": 0x1}', NINES, NINES + b"}", b"[" * 100_000, DEEP,
     b'{"a":' * 300 + b"1" + b"}" * 300],
)  # fmt: skip
@walk_over("path", ["/store", "/entities/query"])
def test_a_body_that_is_no_json_is_refused(http: Http, path: str, body: bytes) -> None:
    answer = envelope(http("POST", path, content=body, headers=JSON))
    assert answer["error_code"] == "INVALID_JSON"
    assert answer["details"]["reason"]


@pytest.mark.parametrize("number", [b"1e999", b"-1e999"])
def test_a_number_beyond_every_float_is_refused(http: Http, number: bytes) -> None:
    for path, body in (
        ("/entities/query", b'{"limit": %s}'),
        ("/store", b'{"entities": [{"entity_type": "x", "a": [%s]}]}'),
        ("/store", b'{"entities": [{"entity_type": "x", "a": 1}], "source_priority": %s}'),
    ):
        assert envelope(http("POST", path, content=body % number, headers=JSON))["details"]["issues"]


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"null", b"true", b"1.5"])
def test_a_body_that_is_no_object_is_refused(http: Http, body: bytes) -> None:
    answer = envelope(http("POST", "/store", content=body, headers=JSON))
    assert (answer["error_code"], "object" in answer["details"]["reason"]) == ("INVALID_JSON", True)


def test_an_empty_body_is_no_arguments(http: Http) -> None:
    assert http("POST", "/entities/query").json() == {"entities": [], "limit": 100, "offset": 0}
    assert envelope(http("POST", "/store"))["details"]["issues"][0]["path"] == "$.entities"


def test_of_a_name_given_twice_the_last_one_holds(http: Http) -> None:
    body = b'{"limit": "x", "limit": 7}'
    assert http("POST", "/entities/query", content=body, headers=JSON).json()["limit"] == 7


@pytest.mark.parametrize(
    ("content_type", "taken"),
    [
        ("application/json", True),
        ("APPLICATION/JSON; charset=UTF-8", True),
        ('application/json;charset="utf-8"', True),
        ("application/json; charset=latin-1", False),
        ("application/json; charset=utf-16", False),
        ("application/jsonx", False),
        ("application/x-www-form-urlencoded", False),
        ("multipart/form-data; boundary=x", False),
        ("text/plain", False),
        ("text/json", False),
        ("", False),
        (";", False),
        ("\xe9", False),
    ],
)
def test_a_body_must_be_declared_as_json(http: Http, content_type: str, taken: bool) -> None:
    headers = {"Content-Type": content_type.encode("latin-1")}
    answer = http("POST", "/entities/query", content=b"{}", headers=headers)
    if taken:
        assert answer.status_code == 200
    else:
        assert envelope(answer)["error_code"] == "UNSUPPORTED_MEDIA_TYPE"


@pytest.mark.parametrize(
    ("zone", "hour"),
    [("Asia/Tokyo", 15), ('"Asia/Tokyo"; x', 15), ("Nowhere/At_all", 0), ("../../etc/passwd", 0)],
)
def test_a_request_may_name_the_time_zone_of_its_days(http: Http, zone: str, hour: int) -> None:
    task = {"entity_type": "task", "title": "Water the ferns", "due_date": "2031-03-05"}
    assert http("POST", "/store", json={"entities": [task]}).status_code == 200
    headers = {"Prefer": f"respond-async, timezone={zone}"}
    answer = http("POST", "/entities/query", json={"search": "tasks due 2031-03-05"}, headers=headers)
    period = answer.json()["understood"]["time"]
    assert period["from"] == f"2031-03-0{4 if hour else 5}T{hour:02}:00:00.000000Z"
    assert answer.json()["understood"]["count"] == 1
