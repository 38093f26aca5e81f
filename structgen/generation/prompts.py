"""Encodes a prompt, a text or chat messages, as token ids.

A chat prompt is written by the tokenizer's chat template, which adds its own special tokens; a
plain prompt gets those that the tokenizer puts before any text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from structgen.errors import ModelError
from structgen.regular.words import is_spellable

Message = Mapping[str, Any]  # {"role": ..., "content": ...}
Prompt = str | Sequence[Message]
Chat = Literal["auto", True, False]


def encode_prompt(
    tokenizer: Any,
    prompt: Prompt,
    chat: Chat = "auto",
    system: str | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
) -> tuple[int, ...]:
    """Token ids of `prompt`, at least one.

    chat "auto" uses the chat template if the tokenizer has one. `system` is a system message, and
    messages instead of a text are a conversation; both need the template, and so do definitions of
    tools. ModelError when they cannot be used.
    """
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if not isinstance(prompt, str) and not is_conversation(prompt):
        raise ModelError(
            f"the prompt is {prompt!r:.80}", expected="a text, or messages with role and content"
        )
    for text in (prompt, system):
        if isinstance(text, str) and not is_spellable(text):
            raise ModelError(
                f"the prompt has half a surrogate pair: {text!a:.80}",
                expected="a text of characters",
            )
    if chat is True and not has_template:
        raise ModelError("the tokenizer has no chat template", hint="give chat=False")
    if chat is False or not has_template:
        if system is not None or not isinstance(prompt, str):
            what = "a system message" if system is not None else "a conversation"
            raise ModelError(
                f"there is no chat template in use to write {what}",
                hint="put all of it into the prompt as one text",
            )
        return _plain(tokenizer, prompt)
    text = _templated(tokenizer, prompt, system, tools)
    return _with_start(tokenizer, tokenizer(text, add_special_tokens=False)["input_ids"])


def is_conversation(prompt: object) -> bool:
    """Whether a prompt is a list of messages."""
    return (
        isinstance(prompt, Sequence)
        and bool(prompt)
        and all(isinstance(m, Mapping) and {"role", "content"} <= m.keys() for m in prompt)
    )


def _templated(
    tokenizer: Any, prompt: Prompt, system: str | None, tools: Sequence[Mapping[str, Any]]
) -> str:
    import jinja2

    messages: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    messages += [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    more: dict[str, Any] = {"tools": list(tools)} if tools else {}
    try:
        text: str = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **more
        )
    except (jinja2.TemplateError, ValueError, TypeError) as error:
        raise ModelError(
            f"the chat template refuses the messages: {str(error) or type(error).__name__}",
            hint="leave out system= if the model has no system role, or give chat=False",
        ) from error
    return text


def _plain(tokenizer: Any, prompt: str) -> tuple[int, ...]:
    return _with_start(tokenizer, tokenizer(prompt)["input_ids"])


def _with_start(tokenizer: Any, ids: Sequence[int]) -> tuple[int, ...]:
    """The ids, or where there are none the token that stands at the beginning of texts."""
    if ids:
        return tuple(int(i) for i in ids)
    for name in ("bos_token_id", "eos_token_id"):
        start = getattr(tokenizer, name, None)
        if isinstance(start, int):
            return (start,)
    raise ModelError(
        "the prompt is empty, and the tokenizer has no token to begin with",
        expected="a prompt of at least one token",
    )
