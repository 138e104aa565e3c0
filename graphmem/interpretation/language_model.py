"""An interpreter by a language model, at any address that speaks the API of OpenAI.

Only the operator chooses the address (``GRAPHMEM_LLM_URL``); no request can, and no other variable of the
environment does. The model gets the text of a document, piece by piece, and the names of the fields that the
owner's schemas declare. It gets nothing that is stored.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

import structlog
from pydantic import BaseModel, Field, ValidationError

from graphmem.embedding.model_service import ANSWER_BYTES_LIMIT, ModelService, Refused, TooLong, Unanswered
from graphmem.errors import LanguageModelUnavailable
from graphmem.ingest.document import ParsedDocument
from graphmem.ingest.proposal import InterpretationFailed, Proposal
from graphmem.interpretation import model_prompt
from graphmem.interpretation.model_prompt import KnownTypes, ModelAnswer, ModelAnswers, known_types
from graphmem.model import schema
from graphmem.observability.tracing import NO_TRACES, Tracer
from graphmem.settings import Settings

NAME: Final = "language_model"
VERSION: Final = str(model_prompt.VERSION)  # the version of the interpreter: that of its prompt
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


async def propose(
    document: ParsedDocument,
    schemas: Iterable[schema.SchemaDocument],
    settings: Settings,
    config: Mapping[str, Any],
    tracer: Tracer = NO_TRACES,
) -> Proposal:
    """Return what a language model reads in a document.

    The prompt has the names and types of the fields of ``schemas``. ``config`` is what :func:`configuration`
    returned when the interpretation was asked for, or empty.

    Raises:
        InterpretationFailed: no language model is configured, another one was asked for, or its answer is
            none that could be used. Another attempt would end as this one.
        LanguageModelUnavailable: it does not answer, and another attempt may succeed.
    """
    types = known_types(schemas)
    _check(config, configuration(types, settings))
    answers = ModelAnswers(document)
    pieces = list(model_prompt.pieces(document, settings.llm_input_characters))
    if not pieces:
        answers.warn("The document has no text: no language model was asked.")
        return answers.proposal()
    _warn(answers, types, pieces, settings)
    model = _Model(settings, tracer)
    try:
        for piece in pieces[: settings.llm_calls]:
            answer = await model.ask(types, document.text[piece.start : piece.end])
            await asyncio.to_thread(answers.add, answer, piece)
    finally:
        await model.close()
    return await asyncio.to_thread(answers.proposal)


async def check(settings: Settings) -> None:
    """Ask the language model about a text that states nothing; raises as :func:`propose`."""
    types = known_types(())
    configuration(types, settings)
    model = _Model(settings, NO_TRACES)
    try:
        await model.ask(types, "-")
    finally:
        await model.close()


class _Model:
    def __init__(self, settings: Settings, tracer: Tracer) -> None:
        self._settings = settings
        self._key = settings.llm_key.get_secret_value() if settings.llm_key is not None else ""
        # What breaks off is not asked for again: each answer costs, and the next attempt is another run's.
        self._service = ModelService(
            settings.llm_url or "", "/chat/completions", settings.llm_key, settings.llm_timeout, tracer,
            repeats_broken=False,
        )  # fmt: skip

    async def close(self) -> None:
        await self._service.close()

    async def ask(self, types: KnownTypes, text: str) -> ModelAnswer:
        body = {
            "model": self._settings.llm_model,
            "messages": model_prompt.messages(types, text),
            "response_format": model_prompt.RESPONSE_FORMAT,
            "temperature": 0,
            # Its successor, max_completion_tokens, is unknown to many services.
            "max_tokens": self._settings.llm_output_tokens,
        }
        try:
            return self._read(await self._service.ask("chat", body))
        except Refused as exc:
            raise InterpretationFailed(
                f"The language model refuses the request with {exc.status}: {self._cut(exc.text)}"
            ) from exc
        except TooLong as exc:
            raise InterpretationFailed(
                f"The language model has answered more than {ANSWER_BYTES_LIMIT:,} bytes."
            ) from exc
        except Unanswered as exc:
            raise LanguageModelUnavailable(f"the language model {exc}") from exc

    def _read(self, raw: bytes) -> ModelAnswer:
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
            return ModelAnswer.model_validate_json(choice.message.content or "")
        except ValidationError:
            raise InterpretationFailed(
                "The language model has answered something else than the JSON that it was asked for."
            ) from None

    def _cut(self, text: str) -> str:
        """Return what a service writes, without the key."""
        text = text.replace(self._key, "…") if self._key else text
        return text[:_REASON_CHARACTERS_LIMIT]


def configuration(types: KnownTypes, settings: Settings) -> dict[str, str]:
    """Return what an interpretation depends on beside the document and :data:`VERSION`. Raises
    InterpretationFailed: no language model is configured."""
    if settings.llm_url is None or settings.llm_model is None:
        raise InterpretationFailed(
            "No language model is configured: set GRAPHMEM_LLM_URL and GRAPHMEM_LLM_MODEL."
        )
    return {"model": settings.llm_model, "schema_hash": types.hash}


def _check(config: Mapping[str, Any], current: Mapping[str, str]) -> None:
    for name, value in config.items():
        if name not in current:
            raise InterpretationFailed(f"The interpreter {NAME} has no configuration {name[:100]!r}.")
        if value != current[name]:
            text = str(value)[:100]
            raise InterpretationFailed(
                f"The interpretation was asked for with {name} {text!r}, and today it is {current[name]!r}."
            )


def _warn(
    answers: ModelAnswers, types: KnownTypes, pieces: list[model_prompt.PromptPiece], settings: Settings
) -> None:
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
