"""How models write tool calls: each call format by name, as data.

Each format follows the chat template that the named models are published with (the file
`tokenizer_config.json` or `chat_template.jinja` beside their weights), or the page that `source`
names. A model writes best what it was trained on, so spaces and line breaks are those of the
template. In texts `$NAME` stands for the tool, `$ARGUMENTS` for its arguments, `$INDEX` for a whole
number; in `parameter`, `$KEY` and `$VALUE`.
"""

from __future__ import annotations

from typing import NamedTuple

from structgen.errors import SpecError


class CallFormat(NamedTuple):
    """How calls are written.

    open, close: around all calls of one block. call: one call. between: between two calls with no
    text between them; None where there is only ever one. trigger: where free text gives way to
    calls, the beginning of `open`, or of `call` where each stands by itself; "" where calls cannot
    stand in text. block: whether all calls stand in one block. parameter: how one
    argument is written where arguments are no JSON object (text as it is, other values as JSON).
    thought: begin and end of a section of reasoning that may come first. answer: what text to the
    user begins with where it is set off by special tokens; it then stands instead of calls.
    """

    name: str
    models: str
    source: str
    call: str
    trigger: str
    open: str = ""
    between: str | None = "\n"
    close: str = ""
    block: bool = False
    parameter: str = ""
    thought: tuple[str, str] | None = None
    answer: str | None = None


_OBJECT = '{"name": "$NAME", "arguments": $ARGUMENTS}'

FORMATS: dict[str, CallFormat] = {
    found.name: found
    for found in (
        CallFormat(
            "hermes",
            "Hermes 2 Pro, Hermes 3, Qwen 2.5, Qwen 3, QwQ, SmolLM3",
            "chat templates of NousResearch/Hermes-2-Pro-Llama-3-8B and Qwen/Qwen3-8B",
            call=f"<tool_call>\n{_OBJECT}\n</tool_call>",
            trigger="<tool_call>",
        ),
        CallFormat(
            "llama3_json",
            "Llama 3.1, 3.2, 3.3 with their own template; Gemma 3 as its documentation prompts it",
            "chat template of meta-llama/Llama-3.1-8B-Instruct; Gemma docs, Function calling",
            call='{"name": "$NAME", "parameters": $ARGUMENTS}',
            trigger='{"name": "',
            between="; ",
        ),
        CallFormat(
            "llama3_python_tag",
            "Llama 3.1 and 3.3 with tools of the ipython environment",
            "Llama 3.1 model card, prompt formats",
            call='<|python_tag|>{"name": "$NAME", "parameters": $ARGUMENTS}',
            trigger="<|python_tag|>",
            between="; ",
        ),
        CallFormat(
            "llama3_function",
            "Llama 3.1 with user-defined tools in the system prompt; functionary v3.1",
            "Llama 3.1 model card, prompt formats; meetkai/functionary-small-v3.1",
            call="<function=$NAME>$ARGUMENTS</function>",
            trigger="<function=",
            between="",
        ),
        CallFormat(
            "mistral_v3",
            "Mistral 7B v0.3, Mixtral 8x22B",
            "chat template of mistralai/Mistral-7B-Instruct-v0.3",
            call=_OBJECT,
            trigger="[TOOL_CALLS]",
            open="[TOOL_CALLS] [",
            between=", ",
            close="]",
            block=True,
        ),
        CallFormat(
            "mistral_nemo",
            "Mistral Nemo, Large 2, Small 3 (Tekken tokenizers before v11)",
            "chat template of mistralai/Mistral-Nemo-Instruct-2407",
            call=_OBJECT,
            trigger="[TOOL_CALLS]",
            open="[TOOL_CALLS][",
            between=", ",
            close="]",
            block=True,
        ),
        CallFormat(
            "mistral_v11",
            "Mistral Small 3.2, Magistral, Devstral, Ministral 3",
            "mistral-common, instruct tokenizer v11",
            call="[TOOL_CALLS]$NAME[ARGS]$ARGUMENTS",
            trigger="[TOOL_CALLS]",
            between="",
        ),
        CallFormat(
            "deepseek_v3",
            "DeepSeek V3, R1",
            "chat template of deepseek-ai/DeepSeek-R1",
            call=(
                "<｜tool▁call▁begin｜>function<｜tool▁sep｜>$NAME\n```json\n$ARGUMENTS\n```"
                "<｜tool▁call▁end｜>"
            ),
            trigger="<｜tool▁calls▁begin｜>",
            open="<｜tool▁calls▁begin｜>",
            close="<｜tool▁calls▁end｜>",
            block=True,
        ),
        CallFormat(
            "deepseek_v3_1",
            "DeepSeek V3.1",
            "chat template of deepseek-ai/DeepSeek-V3.1",
            call="<｜tool▁call▁begin｜>$NAME<｜tool▁sep｜>$ARGUMENTS<｜tool▁call▁end｜>",
            trigger="<｜tool▁calls▁begin｜>",
            open="<｜tool▁calls▁begin｜>",
            between="",
            close="<｜tool▁calls▁end｜>",
            block=True,
        ),
        CallFormat(
            "kimi_k2",
            "Kimi K2",
            "chat template and tool_call_guidance.md of moonshotai/Kimi-K2-Instruct",
            call=(
                "<|tool_call_begin|>functions.$NAME:$INDEX<|tool_call_argument_begin|>$ARGUMENTS"
                "<|tool_call_end|>"
            ),
            trigger="<|tool_calls_section_begin|>",
            open="<|tool_calls_section_begin|>",
            between="",
            close="<|tool_calls_section_end|>",
            block=True,
        ),
        CallFormat(
            "granite_3_0",
            "Granite 3.0",
            "chat template of ibm-granite/granite-3.0-8b-instruct",
            call=_OBJECT,
            trigger="<|tool_call|>",
            open="<|tool_call|>[",
            between=", ",
            close="]",
            block=True,
        ),
        CallFormat(
            "granite_3_1",
            "Granite 3.1 to 3.3",
            "chat template of ibm-granite/granite-3.1-8b-instruct",
            call=_OBJECT,
            trigger="<tool_call>",
            open="<tool_call>[",
            between=", ",
            close="]",
            block=True,
        ),
        CallFormat(
            "phi4_mini",
            "Phi-4-mini",
            "model card of microsoft/Phi-4-mini-instruct",
            call=_OBJECT,
            trigger="<|tool_call|>",
            open="<|tool_call|>[",
            between=", ",
            close="]<|/tool_call|>",
            block=True,
        ),
        CallFormat(
            "command_r",
            "Command R7B, Command A",
            "chat template (tool_use) of CohereLabs/c4ai-command-r7b-12-2024",
            call='{"tool_call_id": "$INDEX", "tool_name": "$NAME", "parameters": $ARGUMENTS}',
            trigger="<|START_ACTION|>",
            open="<|START_ACTION|>[\n    ",
            between=",\n    ",
            close="\n]<|END_ACTION|>",
            block=True,
            thought=("<|START_THINKING|>", "<|END_THINKING|>"),
            answer="<|START_RESPONSE|>",
        ),
        CallFormat(
            "harmony",
            "gpt-oss",
            "OpenAI cookbook, harmony response format; <|call|> and <|return|> end the text",
            call=(
                "<|channel|>commentary to=functions.$NAME <|constrain|>json<|message|>$ARGUMENTS"
            ),
            trigger="",
            between=None,
            thought=("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
            answer="<|channel|>final<|message|>",
        ),
        CallFormat(
            "functionary_v3_2",
            "functionary v3.2 (the prompt ends with >>>)",
            "chat template of meetkai/functionary-small-v3.2",
            call="$NAME\n$ARGUMENTS",
            trigger="",
            between=">>>",
            block=True,
            answer="all\n",
        ),
        CallFormat(
            "nemotron",
            "Llama-3.3-Nemotron, Nemotron Nano",
            "chat template of nvidia/Llama-3_3-Nemotron-Super-49B-v1",
            call=_OBJECT,
            trigger="<TOOLCALL>",
            open="<TOOLCALL>[",
            between=", ",
            close="]</TOOLCALL>",
            block=True,
        ),
        CallFormat(
            "internlm2",
            "InternLM 2.5, 3",
            "chat format page of InternLM",
            call=(
                '<|action_start|><|plugin|>\n{"name": "$NAME", "parameters": $ARGUMENTS}'
                "<|action_end|>"
            ),
            trigger="<|action_start|><|plugin|>",
        ),
        CallFormat(
            "json_array",
            "xLAM, and any model asked for a JSON array of calls",
            "model card of Salesforce/xLAM-7b-fc-r",
            call=_OBJECT,
            trigger="",
            open="[",
            between=", ",
            close="]",
            block=True,
        ),
        CallFormat(
            "qwen3_coder",
            "Qwen3-Coder, Qwen 3.5, Nemotron 3",
            "chat template of Qwen/Qwen3-Coder-30B-A3B-Instruct",
            call="<tool_call>\n<function=$NAME>\n$ARGUMENTS</function>\n</tool_call>",
            trigger="<tool_call>",
            parameter="<parameter=$KEY>\n$VALUE\n</parameter>\n",
        ),
        CallFormat(
            "glm_4_5",
            "GLM 4.5, 4.6",
            "chat template of zai-org/GLM-4.5",
            call="<tool_call>$NAME\n$ARGUMENTS</tool_call>",
            trigger="<tool_call>",
            parameter="<arg_key>$KEY</arg_key>\n<arg_value>$VALUE</arg_value>\n",
        ),
        CallFormat(
            "minimax_m2",
            "MiniMax M2",
            "chat template of MiniMaxAI/MiniMax-M2",
            call='<invoke name="$NAME">\n$ARGUMENTS</invoke>\n',
            trigger="<minimax:tool_call>",
            open="<minimax:tool_call>\n",
            between="",
            close="</minimax:tool_call>",
            block=True,
            parameter='<parameter name="$KEY">$VALUE</parameter>\n',
        ),
        CallFormat(
            "anthropic_xml",
            "models prompted with Anthropic's XML (the format of the API before tool use blocks)",
            "Anthropic's documentation of legacy tool use",
            call='<invoke name="$NAME">\n$ARGUMENTS</invoke>\n',
            trigger="<function_calls>",
            open="<function_calls>\n",
            between="",
            close="</function_calls>",
            block=True,
            parameter='<parameter name="$KEY">$VALUE</parameter>\n',
        ),
    )
}


def call_format(name: str | CallFormat) -> CallFormat:
    """The format with that name, or one of your own. SpecError when there is none."""
    if isinstance(name, CallFormat):
        return name
    if not isinstance(name, str) or name not in FORMATS:
        raise SpecError(
            f"there is no call format {name!r}", expected="one of " + ", ".join(sorted(FORMATS))
        )
    return FORMATS[name]
