"""Signed URLs of files, which need no credential, open one file of one owner for a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from pydantic import SecretStr

from graphmem.api.app import create_app
from graphmem.api.downloads import CONTENT_POLICY
from graphmem.api.rest_routes import is_public
from graphmem.auth import file_urls
from graphmem.auth.accounts import Accounts
from graphmem.auth.file_urls import PARAMETERS, PATH, FileUrls
from graphmem.context import Services
from graphmem.errors import InvalidInput, NotFound, SourceAmbiguous
from graphmem.model import times
from tests.faces.test_http_edges import Http, envelope, sender
from tests.faces.test_sources import LETTER, with_file
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

TOKEN = "token-of-the-tests-0123456789abcdefghijklmnop"
SECOND = 1_000_000


@pytest.fixture
def http(loop: Loop, services: Services) -> Http:
    """A service that wants a token, called without one."""
    settings = services.settings.model_copy(update={"bearer_token": SecretStr(TOKEN)})
    return sender(loop, create_app(replace(services, settings=settings), limited=False))


@pytest.fixture
def source_id(run: Call) -> str:
    return run("store", **with_file())["source_id"]


@pytest.fixture
def url(run: Call, source_id: str) -> str:
    """Path and query of the signed URL of a file."""
    return path_of(run("sources.url", path=source_id)["url"])


def path_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def parameters_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query, strict_parsing=True))


def refused(http: Http, url: str) -> str:
    """Return the message of the refusal of a URL, after a check that nothing of the file is in it."""
    answer = http("GET", url)
    body = envelope(answer)
    assert (answer.status_code, body["error_code"]) == (403, "FILE_URL_REFUSED"), answer.text
    assert LETTER not in answer.content
    assert "etag" not in answer.headers
    return body["message"]


def test_a_signed_url_serves_the_file_without_a_credential(http: Http, url: str, source_id: str) -> None:
    assert http("GET", f"/sources/{source_id}/content").status_code == 401
    for prefix in ("", "/api"):
        answer = http("GET", prefix + url)
        assert (answer.status_code, answer.content) == (200, LETTER)
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["content-security-policy"] == CONTENT_POLICY
    assert http("GET", url, headers={"Range": "bytes=0-3"}).content == LETTER[:4]
    assert http("HEAD", url).headers["content-length"] == str(len(LETTER))
    assert is_public(PATH)


def test_a_url_is_of_the_advertised_address_and_expires_in_an_hour(
    run: Call, services: Services, source_id: str
) -> None:
    before = times.now()
    answer = run("sources.url", path=source_id)
    assert answer.keys() == {"url", "expires_at"}
    assert answer["url"].startswith(services.settings.advertised_url() + PATH + "?")
    expires_at = times.parse(answer["expires_at"])
    assert 3_599 * SECOND <= expires_at - before <= 3_602 * SECOND
    assert parameters_of(answer["url"])["expires"] == str(expires_at // SECOND)


@pytest.mark.parametrize("name", ["path", "file_path"])
def test_the_path_is_the_storage_url_or_the_id(run: Call, http: Http, source_id: str, name: str) -> None:
    for path in (source_id, run("sources.get", source_id=source_id)["storage_url"]):
        assert http("GET", path_of(run("sources.url", **{name: path})["url"])).content == LETTER


def test_the_path_may_be_the_name_under_which_a_file_was_stored(run: Call, http: Http) -> None:
    run("store", **with_file(LETTER, "letters/ada.txt"))
    run("store", **with_file(b"another", "copy.txt"))
    run("store", **with_file(b"a third one", "copy.txt"))
    assert http("GET", path_of(run("sources.url", path="letters/ada.txt")["url"])).content == LETTER
    with pytest.raises(SourceAmbiguous) as refused:
        run("sources.url", path="copy.txt")
    assert [each["original_filename"] for each in refused.value.details["candidates"]] == ["copy.txt"] * 2
    with pytest.raises(NotFound):
        run("sources.url", path="ada.txt")


@pytest.mark.parametrize("seconds", [0, -1, 86_401, 1.5, True, "soon"])
def test_a_time_outside_a_day_is_refused(run: Call, source_id: str, seconds: Any) -> None:
    with pytest.raises(InvalidInput):
        run("sources.url", path=source_id, expires_in=seconds)


def test_file_url_for_a_path_that_is_no_source_of_the_caller_is_404(
    run: Call, loop: Loop, services: Services, owner: str, source_id: str
) -> None:
    content_hash = run("sources.get", source_id=source_id)["content_hash"]
    stranger = by_runner(loop, services, "somebody-else")
    paths = [
        source_id, f"graphmem://{source_id}", content_hash, f"{owner}/{content_hash[:2]}/{content_hash}",
        f"{owner}/{source_id}", "/etc/passwd", "../../etc/passwd", "file:///etc/passwd",
        f"s3://bucket/{content_hash}", "graphmem://", "graphmem:///etc/passwd",
        "src_0123456789abcdef01234567", "*", "src_' OR 1=1 //",
    ]  # fmt: skip
    for path in paths:
        with pytest.raises(NotFound):
            stranger("sources.url", path=path)
    for path in (each for each in paths if source_id not in each):
        with pytest.raises(NotFound):
            run("sources.url", path=path)


@pytest.mark.parametrize("name", [*PARAMETERS, "signature"])
def test_file_url_with_one_changed_byte_is_refused(http: Http, url: str, name: str) -> None:
    parameters = parameters_of(url)
    value = parameters[name]
    changed = [chr(ord(value[0]) ^ 1) + value[1:], value[:-1] + chr(ord(value[-1]) ^ 1), value + "0"]
    changed += [value[:-1], "", f" {value}", f"0{value}", value.upper() if value != value.upper() else "é"]
    for each in changed:
        refused(http, f"{PATH}?{urlencode(parameters | {name: each})}")


def test_file_url_with_a_later_expiry_is_refused(http: Http, url: str) -> None:
    parameters = parameters_of(url)
    for step in (-1, 1, 86_400):
        refused(http, f"{PATH}?{urlencode(parameters | {'expires': int(parameters['expires']) + step})}")


def test_file_url_for_another_file_or_owner_is_refused(
    http: Http, url: str, run: Call, loop: Loop, services: Services
) -> None:
    other = run("store", **with_file(b"another file"))["source_id"]
    refused(http, f"{PATH}?{urlencode(parameters_of(url) | {'source': other})}")
    stranger = by_runner(loop, services, "somebody-else")
    foreign = stranger("sources.url", path=stranger("store", **with_file(b"foreign"))["source_id"])["url"]
    mixed = parameters_of(url) | {name: parameters_of(foreign)[name] for name in ("owner", "source")}
    refused(http, f"{PATH}?{urlencode(mixed)}")
    assert http("GET", path_of(foreign)).content == b"foreign"


def test_file_url_with_a_missing_a_second_or_an_unknown_parameter_is_refused(http: Http, url: str) -> None:
    parameters = parameters_of(url)
    for name in parameters:
        refused(http, f"{PATH}?{urlencode({key: value for key, value in parameters.items() if key != name})}")
        refused(http, f"{url}&{urlencode({name: parameters[name]})}")
    for more in ("x=1", "user_id=x", "source_id=x"):
        refused(http, f"{url}&{more}")
    refused(http, PATH)
    refused(http, f"{PATH}?{urlencode(dict.fromkeys((*PARAMETERS, 'signature'), chr(0xE9)))}")


def test_signatures_of_two_lists_of_parameters_differ() -> None:
    key = b"k" * 32
    values = [("1", "ab", "c"), ("1", "a", "bc"), ("1", "ab,c"), ('1","ab', "c"), ("1", "ab", "c", "")]
    assert len({file_urls._signature(key, each) for each in values}) == len(values)


def test_file_url_from_the_second_of_its_expiry_on_is_refused(
    http: Http, run: Call, source_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = run("sources.url", path=source_id, expires_in=600)
    expires_at, url = times.parse(answer["expires_at"]), path_of(answer["url"])
    for moment, is_good in ((-SECOND, True), (-1, True), (0, False), (SECOND, False)):
        monkeypatch.setattr(file_urls.times, "now", lambda moment=moment: expires_at + moment)
        if is_good:
            assert http("GET", url).status_code == 200
        else:
            assert "expired" in refused(http, url)


def test_all_processes_sign_with_one_secret_of_the_database(
    loop: Loop, services: Services, http: Http, owner: str, source_id: str
) -> None:
    expires_at = times.now() // SECOND * SECOND + 60 * SECOND

    async def signed() -> str:
        return await FileUrls(services.database).signed(owner, source_id, expires_at)

    first, second = loop.run(signed()), loop.run(signed())
    assert first == second
    assert http("GET", first).content == LETTER


def test_a_url_of_a_disabled_account_is_refused(loop: Loop, services: Services, http: Http) -> None:
    accounts = Accounts(services.database)
    account = loop.run(accounts.create("urls", ["read"], None))
    run = by_runner(loop, services, account.owner)
    url = path_of(run("sources.url", path=run("store", **with_file())["source_id"])["url"])
    assert http("GET", url).status_code == 200
    loop.run(accounts.set_disabled("urls", True))
    refused(http, url)
    loop.run(accounts.set_disabled("urls", False))
    assert http("GET", url).status_code == 200
    loop.run(accounts.delete("urls"))


def test_a_file_that_is_gone_is_404(http: Http, loop: Loop, services: Services, owner: str) -> None:
    async def signed() -> str:
        return await FileUrls(services.database).signed(owner, "src_" + "0" * 24, times.now() + 60 * SECOND)

    assert envelope(http("GET", loop.run(signed())))["error_code"] == "RESOURCE_NOT_FOUND"
