"""Asks a model behind an API that takes no masks until its text fits: see `ask`.

A provider's own structured outputs know a dialect of JSON Schema, and of other specs nothing. So
the nearest schema of that dialect is sent (`schema.export`), and what it leaves out is said in the
prompt. Each answer is checked exactly. Where it does not fit, the model is asked again, with its
text and what is wrong with it, in the words of the schema.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from structgen.constraint.artifact import described
from structgen.constraint.compiler import check
from structgen.constraint.enforced import Checked
from structgen.errors import (
    ArgumentError,
    GenerationError,
    NoAnswerError,
    UnsupportedSchemaError,
    ValidationError,
)
from structgen.generation.checks import check_count
from structgen.generation.prompts import Message, Prompt, is_conversation
from structgen.grammar.specs import Ebnf, Gbnf, Lark
from structgen.integrations.providers.clients import Reply, Request, reply_of, sender_of
from structgen.integrations.requests import check_spec
from structgen.schema.coerce import coerce
from structgen.schema.export.dialects import Loss, ProviderDialect, dialect
from structgen.schema.export.export import export
from structgen.schema.export.readings import Export, readings
from structgen.schema.json_schema import JsonSchema
from structgen.schema.report.faults import faults_of
from structgen.schema.report.slips import look_for_slips
from structgen.schema.values import dumps
from structgen.spec.base import Spec
from structgen.spec.regular import Choice, Regex

MAX_FAULTS = 12  # that one correction names
MAX_STARTS = 100  # places of an answer at which a JSON value is looked for
SHOWN = 40  # characters before a wrong byte that a correction quotes
_FENCED = re.compile(r"^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)

Part = Literal["whole", "trimmed", "fenced", "first value"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer of the model.

    text: all of it. part: what of it was checked: "whole", "trimmed" (without white space around),
    "fenced" (the one fenced block) or "first value" (the first JSON object or array). checked: that
    part, without what only the dialect of the schema sent wants. error: why it does not fit, None
    if it does. faults: this and what else is wrong, in sentences, as the model is told.
    finish_reason: as the provider has it, "" if unknown. response: what the client returned.
    """

    text: str
    part: Part
    checked: str
    error: ValidationError | GenerationError | None
    faults: tuple[str, ...]
    finish_reason: str
    response: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """A text that fits, and how it came about.

    text: fits the spec. value: what it stands for, as of `generate`. part: of the last attempt.
    attempts: all, of which the last one fits. losses: what the schema that was sent does not say.
    enforced: "checked": the text was written without masks.
    """

    text: str
    value: Any
    part: Part
    attempts: tuple[Attempt, ...]
    losses: tuple[Loss, ...]
    enforced: Checked


def ask(
    client: Any,
    prompt: Prompt,
    spec: Any,
    *,
    model: str | None = None,
    provider: str | ProviderDialect | None = "auto",
    attempts: int = 3,
    instruction: str | None = None,
    **options: Any,
) -> Answer:
    """A model's answer that fits `spec`, from an API that structgen cannot mask.

    client: of the packages openai, anthropic or google-genai; or a function
    `complete(messages, response_format)` that returns the text, or an answer of one of these APIs.
    prompt: a text or messages. spec: what `structgen.compile` takes. provider: whose dialect the
    schema is sent in, as for `export_schema`; None sends none; "auto" is the client's own, and none
    for a function. attempts: how often to ask at most. instruction: said behind the prompt instead
    of what is said of the spec where the schema sent does not say all; "" says nothing.
    options: the client's own, such as `max_tokens` (which Anthropic's needs).

    Raises NoAnswerError, with all attempts, where none fits or the model refuses; what compiling
    raises; and whatever the client raises.
    """
    asking = _Asking(client, prompt, spec, model, provider, attempts, instruction, options)
    while True:
        response = asking.send()
        if inspect.isawaitable(response):
            if inspect.iscoroutine(response):
                response.close()
            raise ArgumentError("the client is asynchronous", hint="use structgen.ask_async")
        answer = asking.read(response)
        if answer is not None:
            return answer


async def ask_async(
    client: Any,
    prompt: Prompt,
    spec: Any,
    *,
    model: str | None = None,
    provider: str | ProviderDialect | None = "auto",
    attempts: int = 3,
    instruction: str | None = None,
    **options: Any,
) -> Answer:
    """The same as `ask` with an asynchronous client (`AsyncOpenAI`, `client.aio`) or function."""
    asking = _Asking(client, prompt, spec, model, provider, attempts, instruction, options)
    while True:
        response = asking.send()
        answer = asking.read(await response if inspect.isawaitable(response) else response)
        if answer is not None:
            return answer


class _Asking:
    """The conversation of one call of `ask`, whoever waits for the answers."""

    def __init__(
        self,
        client: Any,
        prompt: Prompt,
        spec: Any,
        model: str | None,
        provider: str | ProviderDialect | None,
        attempts: int,
        instruction: str | None,
        options: Mapping[str, Any],
    ) -> None:
        check_count("attempts", attempts)
        if not isinstance(prompt, str) and not is_conversation(prompt):
            raise ArgumentError(
                f"the prompt is {prompt!r:.80}",
                expected="a text, or messages with role and content",
            )
        self.client = client
        self.options = options if model is None else {"model": model, **options}
        self.send_to, own = sender_of(client)
        provider = own if provider == "auto" else provider
        self.dialect = dialect(provider) if isinstance(provider, str) else provider
        self.spec = coerce(spec)
        look_for_slips(self.spec, strict=False)
        check_spec(self.spec)
        self.sent, self.losses = _exported(self.spec, self.dialect)
        if instruction is None and not _says_all(self.sent):
            instruction = _instruction(self.spec, self.sent)
        self.messages = _with_instruction(prompt, instruction or "")
        self.most = attempts
        self.attempts: list[Attempt] = []

    def send(self) -> Any:
        """Ask once; what the client returns."""
        schema = self.sent.schema if self.sent else None
        request = Request(list(self.messages), schema, self.dialect, self.options)
        return self.send_to(self.client, request)

    def read(self, response: Any) -> Answer | None:
        """The answer if the response fits; None when it is to be asked again. NoAnswerError."""
        reply = reply_of(response)
        for last in self._judged(reply, response):  # at least one
            if last.error is None:
                break
        self.attempts.append(last)
        if last.error is None:
            return Answer(
                text=last.checked,
                value=self.spec.parse(last.checked),
                part=last.part,
                attempts=tuple(self.attempts),
                losses=self.losses,
                enforced=Checked(self.spec),
            )
        count = len(self.attempts)
        if reply.refusal or count == self.most:
            raise NoAnswerError(
                f"none of {count} answers fits; the last: {'; '.join(last.faults)}",
                text=last.text,
                attempts=tuple(self.attempts),
            ) from last.error
        if reply.text:  # APIs take no empty messages
            self.messages.append({"role": "assistant", "content": reply.text})
            self.messages.append({"role": "user", "content": _correction(last.faults)})
        return None

    def _judged(self, reply: Reply, response: Any) -> Iterator[Attempt]:
        """The answer as an attempt, for each part of it that may be meant."""
        for part, text in self._texts(reply.text):
            error: ValidationError | GenerationError | None = None
            faults: tuple[str, ...] = ()
            try:
                if reply.refusal:
                    raise GenerationError(f"the model refuses: {reply.refusal}", text=reply.text)
                check(self.spec, text)
                self.spec.parse(text)
            except (ValidationError, GenerationError) as wrong:
                error, faults = wrong, (*_said_of(reply), *_faults(self.spec, text, wrong))
            yield Attempt(reply.text, part, text, error, faults, reply.finish_reason, response)

    def _texts(self, answer: str) -> Iterator[tuple[Part, str]]:
        """What of an answer may be meant, as the spec has it."""
        for part, text in _parts(answer, isinstance(self.spec.portable(), JsonSchema)):
            for reading in [text] if self.sent is None else readings(text, self.sent):
                yield part, reading


# -- the schema and the prompt ------------------------------------------------------------------


def _exported(spec: Spec, to: ProviderDialect | None) -> tuple[Export | None, tuple[Loss, ...]]:
    """What is sent of a schema, None where there is none or the dialect cannot come near to it."""
    if to is None or not isinstance(spec.portable(), JsonSchema):
        return None, ()
    try:
        found = export(spec, to)
    except UnsupportedSchemaError as error:
        text = f"no schema is sent: {error.problem}"
        return None, (Loss(error.location, error.keyword, "looser", text),)
    return found, found.losses


def _says_all(sent: Export | None) -> bool:
    """Whether nothing is left to say: what is "both" is taken back by `readings`."""
    return sent is not None and not any(loss.effect == "looser" for loss in sent.losses)


def _instruction(spec: Spec, sent: Export | None) -> str:
    """What to write, in words and as the spec has it."""
    wanted = spec.portable()
    if isinstance(wanted, JsonSchema):
        where = f" under the key {json.dumps(sent.wrapper)}" if sent and sent.wrapper else ""
        schema = dumps(wanted.schema, ensure_ascii=False)
        return f"Answer with JSON alone. The value{where} must fit this JSON Schema:\n{schema}"
    if isinstance(wanted, Choice):
        return "Answer with one of these texts alone:\n" + "\n".join(wanted.texts)
    what = f"of this spec: {dumps(described(wanted), ensure_ascii=False)}"
    if isinstance(wanted, Regex):
        what = f"that this regular expression (ECMA-262) matches as a whole:\n{wanted.pattern}"
    elif isinstance(wanted, Lark | Gbnf | Ebnf):
        what = f"of this grammar ({type(wanted).__name__}):\n{wanted.grammar}"
    return f"Answer with a text alone, without a code fence, {what}"


def _with_instruction(prompt: Prompt, instruction: str) -> list[Message]:
    """The messages of a prompt. An instruction goes into the last one if that is a user's text."""
    messages: list[Message] = (
        [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    )
    if not instruction:
        return messages
    last = messages[-1]
    if last["role"] == "user" and isinstance(last["content"], str):
        content = f"{last['content']}\n\n{instruction}"
        return [*messages[:-1], {**last, "content": content}]
    return [*messages, {"role": "user", "content": instruction}]


# -- the answer ---------------------------------------------------------------------------------


def _parts(answer: str, is_json: bool) -> Iterator[tuple[Part, str]]:
    """What of an answer may be meant: all of it first."""
    yield "whole", answer
    if (trimmed := answer.strip()) != answer:
        yield "trimmed", trimmed
    blocks = [block for _, block in _FENCED.findall(answer)]
    if len(blocks) == 1:
        yield "fenced", blocks[0].removesuffix("\n")
    elif is_json and (value := _first_value(trimmed)) not in (None, trimmed):
        yield "first value", value


def _first_value(text: str) -> str | None:
    """The text of the first JSON object or array in a text."""
    for start in islice(re.finditer(r"[{\[]", text), MAX_STARTS):
        try:
            _, end = json.JSONDecoder().raw_decode(text, start.start())
        except (ValueError, RecursionError):
            continue
        return text[start.start() : end]
    return None


def _said_of(reply: Reply) -> Iterator[str]:
    """What is wrong with an answer that is no text at all, or not all of it."""
    reason = f" (it ended for the reason {reply.finish_reason!r})" if reply.finish_reason else ""
    if reply.is_cut:
        yield f"the answer was cut off{reason}"
    elif not reply.text.strip() and not reply.refusal:
        yield f"the answer is empty{reason}"


def _faults(spec: Spec, text: str, error: ValidationError | GenerationError) -> list[str]:
    """What is wrong with a text, in sentences: all keywords that it breaks, or the first byte."""
    if not isinstance(error, ValidationError):
        return [str(error)]
    wanted, data = spec.portable(), text.encode(errors="surrogatepass")
    if isinstance(wanted, JsonSchema):
        found = faults_of(wanted.any_layout(), data, error.offset, error.path)
        messages = dict.fromkeys(fault.message for fault in found if fault.message)
        if messages:
            return [*messages][:MAX_FAULTS]
    before = data[: error.offset].decode(errors="replace")
    return [f"{error}, behind {before[-SHOWN:]!r}" if before else str(error)]


def _correction(faults: Sequence[str]) -> str:
    listed = "\n".join(f"- {fault}" for fault in faults)
    return (
        f"This does not fit:\n{listed}\nWrite the whole answer again, corrected, and nothing else."
    )
