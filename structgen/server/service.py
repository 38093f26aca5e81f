"""What all endpoints share: a request becomes a plan, the plan a job, and the job is written."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structgen.constraint.enforced import HEADERS, Enforced
from structgen.errors import GenerationError, ModelError, StructgenError
from structgen.generation.distribution import row_rng
from structgen.generation.penalties import Bias, Repetition
from structgen.generation.prompts import encode_prompt
from structgen.generation.row import Row
from structgen.generation.settings import Settings
from structgen.generation.speculation.names import MODEL_FREE
from structgen.schema.machine.lexicon import prepare_common
from structgen.server.alone import EXACT, drawn, with_drafts
from structgen.server.compiling import Compiler
from structgen.server.endpoints.calls import format_of
from structgen.server.engine import Engine
from structgen.server.errors import ApiError, of_structgen
from structgen.server.jobs import Job, Piece
from structgen.server.metrics import Metrics
from structgen.server.probabilities import Alternative, TokenRecord, finite
from structgen.server.reasoning import TAIL, Marks, ReasoningReader
from structgen.server.requests.tools import Plan
from structgen.server.requests.wire import GenerationFields, Message
from structgen.server.settings import Limits, ServerSettings

if TYPE_CHECKING:
    from structgen.generation.generator import Generator


#: Fields that change the distribution of the next token; an exact sampler draws from the model's.
_NOT_FOR_SAMPLERS = (
    "speculate", "top_p", "top_k", "min_p", "stop", "presence_penalty", "frequency_penalty",
    "repetition_penalty", "logit_bias",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """How many texts a request wants, and with what beside them.

    prompts: one for each group of `body.n` texts. max_tokens: as the request says, or None. top:
    alternatives for each token, None where no probabilities are wanted. prompt_field, tokens_field:
    what prompts and max_tokens are called, for errors.
    """

    prompts: Sequence[Any]
    max_tokens: int | None
    top: int | None
    chat: bool
    prompt_field: str
    tokens_field: str = "max_tokens"


class Service:
    """A loaded model with its engine, its compiler and its figures."""

    def __init__(self, generator: Generator, settings: ServerSettings) -> None:
        """Start the engine's thread; `close` ends it."""
        from structgen.generation.models.joining import join

        self.generator = generator
        self.settings = settings
        self.metrics = Metrics()
        self.engine = Engine(
            generator.target, join, self.metrics, rows=settings.rows, waiting=settings.waiting
        )
        prepare_common()  # else the first requests with a format would wait for it
        self.compiler = Compiler(generator.specs, self.metrics, settings.compilers)
        template = str(getattr(generator.tokenizer, "chat_template", None) or "")
        self.call_format = settings.call_format or format_of(template)
        self.marks = None if settings.reasoning is None else Marks(*settings.reasoning)
        self.started = int(time.time())

    def close(self) -> None:
        """End all threads; requests under way fail."""
        self.engine.close()
        self.compiler.close()

    def check_model(self, name: str) -> None:
        """ApiError 404 for a model that is not the one here."""
        if name != self.settings.model_name:
            raise ApiError(
                f"there is no model {name!r} here",
                param="model",
                code="model_not_found",
                status=404,
                more={"expected": self.settings.model_name},
            )

    async def start(self, body: GenerationFields, asked: Asked, plan: Plan, limits: Limits) -> Job:
        """Compile, encode the prompts, and hand the rows to the engine."""
        arrived = time.monotonic()
        count = body.n or 1
        if len(asked.prompts) * count > limits.choices:
            raise ApiError(
                f"{len(asked.prompts) * count} texts are asked for, and the limit is "
                f"{limits.choices}",
                param="n",
            )
        self._check_biases(body)
        _check_loop(body, asked)
        options = _settings(body, asked, limits)
        reasons = None
        if self.marks is not None and asked.chat:
            reasons = await asyncio.to_thread(self._reasons, self.marks, asked, plan)
        wanted = plan.wanted
        if self.marks is not None and reasons is not None:
            wanted = self.marks.before(wanted, opened=reasons)
        spec = await self.compiler.spec(wanted, limits)
        try:
            rows = await asyncio.to_thread(self._rows, asked, plan, spec, options, count)
            writer = self._writer(body, rows, count)
        except GenerationError as error:
            raise of_structgen(error, asked.tokens_field) from error
        except ModelError as error:
            raise of_structgen(error, asked.prompt_field) from error
        except StructgenError as error:
            raise of_structgen(error, plan.wanted.param or None) from error
        job = Job(
            rows=rows,
            loop=asyncio.get_running_loop(),
            deadline=arrived + limits.seconds,
            stream=bool(body.stream),
            top=asked.top,
            states=limits.states,
            writer=writer,
            reasons=reasons,
        )
        self.engine.submit(job)
        return job

    def _reasons(self, marks: Marks, asked: Asked, plan: Plan) -> bool:
        """Whether the prompt of a chat ends inside of the model's reasoning."""
        _check_text([asked.prompts, plan.definitions], asked.prompt_field)
        try:
            ids = encode_prompt(
                self.generator.tokenizer,
                asked.prompts[0],
                self.generator.chat,
                tools=plan.definitions,
            )
        except ModelError as error:
            raise of_structgen(error, asked.prompt_field) from error
        return marks.opened_by(self.generator.tokenizer.decode(ids[-TAIL:]))

    def reasoning_of(self, job: Job) -> ReasoningReader | None:
        """What tells a row's reasoning from its answer; None where the model writes none."""
        if self.marks is None or job.reasons is None:
            return None
        return ReasoningReader(self.marks, opened=job.reasons)

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        found = self.generator.tokenizer(text, add_special_tokens=False) if text else {}
        return len(found.get("input_ids", ()))

    def _rows(self, asked: Asked, plan: Plan, spec: Any, options: Settings, n: int) -> list[Row]:
        """The rows of `n` texts for each prompt, before their first token."""
        _check_text([asked.prompts, plan.definitions], asked.prompt_field)
        found = []
        for prompt in asked.prompts:
            request = self.generator.request(prompt, spec, options, "", plan.definitions)
            found += [Row(request, row_rng(options.seed, i)) for i in range(n)]
        return found

    def _writer(
        self, body: GenerationFields, rows: list[Row], count: int
    ) -> Iterator[list[Piece]] | None:
        """The loop that a request asks for; None for that which requests share."""
        if body.speculate is not None:
            return with_drafts(self.generator, rows, body.speculate)
        if body.sampler is not None:
            return drawn(self.generator, rows, body.sampler, count, body.seed)
        return None

    def _check_biases(self, body: GenerationFields) -> None:
        size = self.generator.vocabulary.size
        for token in body.logit_bias or ():
            if not 0 <= token < size:
                raise ApiError(
                    f"logit_bias names token {token}",
                    param="logit_bias",
                    more={"expected": f"0 to {size - 1}"},
                )

    def info(self, plan: Plan) -> dict[str, Any]:
        """What answers say of their constraint: was it enforced, by what, which one."""
        asked = plan.enforced != "none"
        return {
            "enforced": plan.enforced,
            "engine": Enforced.engine,
            "spec": plan.wanted.key if asked else None,
            "kind": plan.wanted.kind if asked else None,
            "field": plan.wanted.param if asked else None,
        }

    def headers(self, plan: Plan) -> dict[str, str]:
        """The same, for those who see no bodies."""
        said = self.info(plan)
        return {f"{HEADERS}{name}": said[name] for name in ("enforced", "spec") if said[name]}

    def token_text(self, token: int) -> bytes:
        """The bytes of a token."""
        return self.generator.vocabulary.token_bytes(token)

    def probabilities(self, records: Sequence[TokenRecord]) -> list[dict[str, Any]]:
        """Tokens with their alternatives, as chats and responses have them."""
        return [
            self._probability(record)
            | {"top_logprobs": [self._probability(other) for other in record.others]}
            for record in records
        ]

    def _probability(self, record: TokenRecord | Alternative) -> dict[str, Any]:
        """A token: `logprob` is under the mask, `raw_logprob` under the model alone."""
        data = self.token_text(record.token)
        return {
            "token": data.decode(errors="replace"),
            "bytes": list(data),
            "logprob": finite(record.masked),
            "raw_logprob": finite(record.raw),
        }


def usage(
    job: Job, prompts: int, names: tuple[str, str] = ("prompt", "completion")
) -> dict[str, int]:
    """Tokens read and written; the texts of one prompt read it together."""
    each = len(job.rows) // prompts
    read = sum(len(row.request.prompt) for row in job.rows[::each])
    written = sum(len(row.tokens) for row in job.rows)
    first, second = names
    return {f"{first}_tokens": read, f"{second}_tokens": written, "total_tokens": read + written}


def finish_reason(reason: str) -> str:
    """OpenAI's word for why a text has ended."""
    return "length" if reason == "closed" else "stop"


def messages_of(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages as chat templates take them: texts whole, earlier calls with parsed arguments."""
    found: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        content = message.content
        if isinstance(content, list):
            content = "".join(part.text for part in content)
        if content is None and not message.tool_calls:
            place = f"messages[{number}].content"
            raise ApiError(f"there is no {place}", param=place, code="missing_field")
        role = "system" if message.role == "developer" else message.role
        one: dict[str, Any] = {"role": role, "content": content or ""}
        if message.name is not None:
            one["name"] = message.name
        if message.tool_call_id is not None:
            one["tool_call_id"] = message.tool_call_id
        calls = []
        for call in message.tool_calls or ():
            if call.function is not None:
                try:
                    arguments = json.loads(call.function.arguments)
                except ValueError:
                    arguments = call.function.arguments
                function = {"name": call.function.name, "arguments": arguments}
            elif call.custom is not None:
                function = {"name": call.custom.name, "arguments": {"input": call.custom.input}}
            else:
                place = f"messages[{number}].tool_calls"
                raise ApiError("a call has no function", param=place, code="missing_field")
            calls.append({"id": call.id, "type": "function", "function": function})
        if calls:
            one["tool_calls"] = calls
        found.append(one)
    return found


def _check_text(value: Any, field: str) -> None:
    """ApiError for unpaired surrogates, which JSON can write and no tokenizer reads."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ApiError(
            f"{field} has an unpaired surrogate", param=field, more={"expected": "whole characters"}
        ) from error


def _check_loop(body: GenerationFields, asked: Asked) -> None:
    """ApiError where `speculate` or `sampler` is unknown, or stands beside what it cannot heed."""
    for field, names in (("speculate", tuple(MODEL_FREE)), ("sampler", EXACT)):
        name = getattr(body, field)
        if name is not None and name not in names:
            raise ApiError(
                f"there is no {field} {name!r} here",
                param=field,
                more={"expected": " or ".join(names)},
            )
    chosen = "sampler" if body.sampler is not None else "speculate"
    if getattr(body, chosen) is None:
        return
    given: dict[str, Any] = {"logprobs": asked.top}
    if chosen == "sampler":
        if body.temperature == 0:
            given["temperature"] = 0  # the likeliest token is no draw
        given |= {name: getattr(body, name) for name in _NOT_FOR_SAMPLERS}
    conflict = next((name for name, value in given.items() if value is not None), None)
    if conflict is not None:
        raise ApiError(
            f"{conflict} and {chosen} cannot be given together",
            param=conflict,
            code="conflicting_fields",
            more={"conflicts_with": chosen},
        )


def _settings(body: GenerationFields, asked: Asked, limits: Limits) -> Settings:
    """The options of generation. ApiError with the field that is out of range."""
    if asked.max_tokens is not None and asked.max_tokens > limits.max_tokens:
        raise ApiError(
            f"{asked.tokens_field} is {asked.max_tokens}, and the limit is {limits.max_tokens}",
            param=asked.tokens_field,
        )
    given: dict[str, Any] = {
        "temperature": body.temperature,
        "top_p": body.top_p,
        "top_k": None if body.top_k in (0, -1) else body.top_k,  # vLLM's ways to say all
        "min_p": body.min_p,
        "seed": body.seed,
        "stop": [body.stop] if isinstance(body.stop, str) else body.stop,
    }
    options: dict[str, Any] = {
        "max_tokens": asked.max_tokens or limits.max_tokens,
        "chat": None if asked.chat else False,
        "transforms": _transforms(body),
    }
    for field, value in given.items():
        if value is not None:
            option = {"stop": "stop_sequences"}.get(field, field)
            options[option] = value
            with _about(field):
                _ = Settings.of({option: value}).sampler
    return Settings.of(options)


@contextlib.contextmanager
def _about(field: str) -> Iterator[None]:
    """Errors of the block are about a field of the request."""
    try:
        yield
    except GenerationError as error:
        raise of_structgen(error, field) from error


def _transforms(body: GenerationFields) -> list[Any]:
    found: list[Any] = []
    presence, frequency = body.presence_penalty or 0.0, body.frequency_penalty or 0.0
    factor = 1.0 if body.repetition_penalty is None else body.repetition_penalty
    if presence or frequency or factor != 1.0:
        with _about("repetition_penalty"):  # the one that has a range
            found.append(Repetition(presence, frequency, factor))
    if body.logit_bias:
        found.append(Bias(dict(body.logit_bias.items())))
    return found
