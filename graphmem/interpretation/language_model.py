"""An interpreter by a language model, at any address that speaks the API of OpenAI.

Only the operator chooses the address (``GRAPHMEM_LLM_URL``); no request can, and no other variable of the
environment does. The model gets the text of a document, piece by piece, and the names of the fields that the
owner's schemas declare. It gets nothing that is stored.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import structlog
from pydantic import BaseModel, Field, ValidationError

from graphmem.errors import LanguageModelUnavailable
from graphmem.ingest.document import Document
from graphmem.ingest.proposal import InterpretationFailed, Proposal
from graphmem.interpretation import model_prompt
from graphmem.interpretation.model_answer import Answer, Answers
from graphmem.interpretation.model_prompt import KnownTypes, known_types
from graphmem.model import schema
from graphmem.observability.tracing import NO_TRACES, Tracer
from graphmem.settings import Settings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

NAME: Final = "language_model"
"""The name of the interpreter."""
VERSION: Final = str(model_prompt.VERSION)
"""The version of the interpreter: that of its prompt."""
RETRIES: Final = 2
"""How often a call is repeated after a temporary error."""
ANSWER_BYTES_LIMIT: Final = 20_000_000
"""Largest answer that is read, in bytes."""
_REFUSED_STATUSES: Final = frozenset({400, 413, 422})
_REASON_CHARACTERS_LIMIT: Final = 300

_log = structlog.get_logger("graphmem.interpretation")


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


def configuration(schemas: Iterable[schema.Document], settings: Settings) -> dict[str, str]:
    """Return what an interpretation depends on beside the document and :data:`VERSION`.

    Raises:
        InterpretationFailed: no language model is configured.
    """
    return _configuration(known_types(schemas), settings)


async def propose(
    document: Document,
    schemas: Iterable[schema.Document],
    settings: Settings,
    config: Mapping[str, Any],
    tracer: Tracer = NO_TRACES,
) -> Proposal:
    """Return what a language model reads in a document.

    Args:
        schemas: the known types; the names and types of their fields are in the prompt.
        config: what :func:`configuration` returned when the interpretation was asked for, or empty.

    Raises:
        InterpretationFailed: no language model is configured, another one was asked for, or its answer is
            none that could be used. Another attempt would end as this one.
        LanguageModelUnavailable: it does not answer, and another attempt may succeed.
    """
    types = known_types(schemas)
    _check(config, _configuration(types, settings))
    answers = Answers(document)
    pieces = list(model_prompt.pieces(document, settings.llm_input_characters))
    if not pieces:
        answers.warn("The document has no text: no language model was asked.")
        return answers.proposal()
    _warn(answers, types, pieces, settings)
    model = _Model(settings, tracer, await asyncio.to_thread(importlib.import_module, "openai"))
    try:
        for piece in pieces[: settings.llm_calls]:
            answer = await model.ask(types, document.text[piece.start : piece.end])
            await asyncio.to_thread(answers.add, answer, piece)
    finally:
        await model.close()
    return await asyncio.to_thread(answers.proposal)


async def check(settings: Settings) -> None:
    """Ask the language model about a text that states nothing.

    Raises:
        InterpretationFailed, LanguageModelUnavailable: as :func:`propose`.
    """
    types = known_types(())
    _configuration(types, settings)
    model = _Model(settings, NO_TRACES, await asyncio.to_thread(importlib.import_module, "openai"))
    try:
        await model.ask(types, "-")
    finally:
        await model.close()


class _Model:
    """The client of one language model.

    Args:
        openai: the module ``openai``, which takes some time to import.
    """

    def __init__(self, settings: Settings, tracer: Tracer, openai: Any) -> None:
        self._settings, self._tracer, self._openai = settings, tracer, openai
        self._key = settings.llm_key.get_secret_value() if settings.llm_key is not None else ""
        client: AsyncOpenAI = openai.AsyncOpenAI(
            # Without a key the client would take one from the environment, which belongs to another service.
            api_key=self._key or "none",
            base_url=settings.llm_url,
            timeout=settings.llm_timeout,
            max_retries=RETRIES,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )
        client.organization = client.project = None
        self._client = client

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask(self, types: KnownTypes, text: str) -> Answer:
        """Return what the model answers about a text."""
        openai = self._openai
        try:
            async with asyncio.timeout(self._settings.llm_timeout):
                raw = await self._send(model_prompt.messages(types, text))
        except openai.APIStatusError as exc:
            raise self._refusal(exc) from exc
        except (TimeoutError, openai.APITimeoutError) as exc:
            raise LanguageModelUnavailable("the language model does not answer in time") from exc
        except openai.APIError as exc:
            cause = exc.__cause__ or exc
            raise LanguageModelUnavailable(f"the language model does not answer: {cause}") from exc
        return self._read(raw)

    async def _send(self, messages: Any) -> bytes:
        with self._tracer.call("chat") as headers:
            async with self._client.chat.completions.with_streaming_response.create(
                model=self._settings.llm_model or "",
                messages=messages,
                response_format=model_prompt.response_format(),  # pyright: ignore[reportArgumentType]
                temperature=0,
                # Its successor, max_completion_tokens, is unknown to many services.
                max_tokens=self._settings.llm_output_tokens,
                extra_headers={**headers, **({} if self._key else {"Authorization": self._openai.omit})},
            ) as response:
                return await self._body(response)

    async def _body(self, response: Any) -> bytes:
        import httpx2

        content = bytearray()
        try:
            async for part in response.iter_bytes():
                content += part
                if len(content) > ANSWER_BYTES_LIMIT:
                    raise InterpretationFailed(
                        f"The language model has answered more than {ANSWER_BYTES_LIMIT:,} bytes."
                    )
        except httpx2.HTTPError as exc:
            raise LanguageModelUnavailable(f"the language model breaks off its answer: {exc}") from exc
        return bytes(content)

    def _refusal(self, exc: Any) -> Exception:
        """Return the error for a status: for this document, or for now."""
        status = exc.status_code
        if status in _REFUSED_STATUSES:
            return InterpretationFailed(
                f"The language model refuses the request with {status}: {self._cut(exc.message)}"
            )
        advice = "" if status == 429 or status >= 500 else ": check its URL, the model and the key"
        return LanguageModelUnavailable(f"the language model answers {status}{advice}")

    def _read(self, raw: bytes) -> Answer:
        try:
            completion = _Completion.model_validate_json(raw)
        except ValidationError:
            raise LanguageModelUnavailable("the language model answers something else than a chat") from None
        choice, usage = completion.choices[0], completion.usage or _Usage()
        _log.info(
            "a language model has answered",
            model=self._settings.llm_model,
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
        )
        if choice.message.refusal:
            raise InterpretationFailed(f"The language model refuses: {self._cut(choice.message.refusal)}")
        if choice.finish_reason == "length":
            raise InterpretationFailed(
                "The answer of the language model was cut off: raise GRAPHMEM_LLM_OUTPUT_TOKENS, or lower "
                "GRAPHMEM_LLM_INPUT_CHARACTERS."
            )
        if choice.finish_reason == "content_filter":
            raise InterpretationFailed("The language model's filter has stopped the answer.")
        try:
            return Answer.model_validate_json(choice.message.content or "")
        except ValidationError:
            raise InterpretationFailed(
                "The language model has answered something else than the JSON that it was asked for."
            ) from None

    def _cut(self, text: str) -> str:
        """Return what a service writes, without the key."""
        text = text.replace(self._key, "…") if self._key else text
        return text[:_REASON_CHARACTERS_LIMIT]


def _configuration(types: KnownTypes, settings: Settings) -> dict[str, str]:
    if settings.llm_url is None or settings.llm_model is None:
        raise InterpretationFailed(
            "No language model is configured: set GRAPHMEM_LLM_URL and GRAPHMEM_LLM_MODEL."
        )
    return {"model": settings.llm_model, "schema_hash": types.hash}


def _check(config: Mapping[str, Any], current: Mapping[str, str]) -> None:
    """Check that an interpretation means the model and the schemas of today."""
    for name, value in config.items():
        if name not in current:
            raise InterpretationFailed(f"The interpreter {NAME} has no configuration {name[:100]!r}.")
        if value != current[name]:
            shown = str(value)[:100]
            raise InterpretationFailed(
                f"The interpretation was asked for with {name} {shown!r}, and today it is {current[name]!r}."
            )


def _warn(answers: Answers, types: KnownTypes, pieces: list[model_prompt.Piece], settings: Settings) -> None:
    """Warn of what the model does not get."""
    if types.left_out:
        answers.warn(
            f"{len(types.left_out)} known types are not in the prompt, {types.left_out[0]} among them: it "
            f"has room for {model_prompt.KNOWN_TYPES_CHARACTERS_LIMIT:,} characters of them."
        )
    if len(pieces) > settings.llm_calls:
        end = pieces[settings.llm_calls - 1].end
        answers.warn(
            f"Only the first {end:,} of {pieces[-1].end:,} characters were read: GRAPHMEM_LLM_CALLS is "
            f"{settings.llm_calls}."
        )
