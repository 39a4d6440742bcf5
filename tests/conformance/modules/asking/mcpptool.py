"""Tools and a prompt that ask their client for something before they answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from . import forms

Context = Mapping[str, Any]


def execute(tool_name: str, arguments: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Run a tool."""
    return {"success": True, "result": TOOLS[tool_name](arguments, context)}


def get_prompt(name: str, arguments: Mapping[str, str], context: Context) -> str:
    """A prompt about what the user says."""
    answer = context["elicit"]("What context should the prompt use?", forms.text("context"))
    return f"Use this context: {said(answer)}"


def sample(arguments: Mapping[str, Any], context: Context) -> str:
    """Answer with what the client's model says to a prompt."""
    return f"LLM response: {words(context['sample'](arguments['prompt'], max_tokens=100))}"


def elicit(arguments: Mapping[str, Any], context: Context) -> str:
    """Answer with what the user fills in."""
    return f"User response: {said(context['elicit'](arguments['message'], forms.text('username', 'email')))}"


def roots(arguments: Mapping[str, Any], context: Context) -> str:
    """Answer with the client's roots."""
    return f"Roots: {json.dumps(context['roots']())}"


def defaults(arguments: Mapping[str, Any], context: Context) -> str:
    """Answer with what the user leaves or changes in a form."""
    answer = context["elicit"]("Please review and update the form fields with defaults", forms.DEFAULTS)
    return f"Elicitation completed: {said(answer)}"


def choices(arguments: Mapping[str, Any], context: Context) -> str:
    """Answer with what the user chooses."""
    return f"Elicitation completed: {said(context['elicit']('Please select options', forms.CHOICES))}"


def go_on(arguments: Mapping[str, Any], context: Context) -> str:
    """Answer with whether the user wants to go on."""
    return f"Going on: {said(context['elicit']('Shall it go on?', forms.CONFIRMATION))}"


def user_name(arguments: Mapping[str, Any], context: Context) -> str:
    """Greet the user."""
    answer = context["elicit"]("What is your name?", forms.text("name"), key="user_name")
    return f"Hello, {content(answer).get('name', 'nobody')}!"


def capital(arguments: Mapping[str, Any], context: Context) -> str:
    """Answer with what the client's model says."""
    return words(context["sample"]("What is the capital of France?", max_tokens=100))


def confirm(arguments: Mapping[str, Any], context: Context) -> str:
    """Answer that the user's confirmation has come back together with our state."""
    context["elicit"]("Please confirm", forms.CONFIRMATION)
    return "state-ok"


def three_at_once(arguments: Mapping[str, Any], context: Context) -> str:
    """Answer with a name, a greeting and a place."""
    answer, greeting, places = context["ask_all"](
        [
            ("elicit", {"message": "What is your name?", "schema": forms.text("name")}),
            ("sample", {"messages": "Generate a greeting", "max_tokens": 50}),
            ("roots", {}),
        ]
    )
    return f"{words(greeting)} {content(answer).get('name')} of {json.dumps(places)}"


def two_rounds(arguments: Mapping[str, Any], context: Context) -> str:
    """Answer with a name and a colour."""
    first = context["elicit"]("Step 1: What is your name?", forms.text("name"))
    second = context["elicit"]("Step 2: What is your favorite color?", forms.text("color"))
    return f"{content(first).get('name')} likes {content(second).get('color')}."


def what_it_can(arguments: Mapping[str, Any], context: Context) -> str:
    """Ask the user if the client can do that, else its model."""
    if "elicitation" in context["client"]["capabilities"]:
        return said(context["elicit"]("What is your name?", forms.text("name")))
    return words(context["sample"]("Generate a name", max_tokens=50))


def said(answer: Mapping[str, Any]) -> str:
    """What the user did and filled in, for a text."""
    return f"action={answer['action']}, content={json.dumps(content(answer))}"


def content(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What the user filled in; nothing if they declined."""
    return dict(answer.get("content") or {})


def words(answer: Mapping[str, Any]) -> str:
    """The text of what the model said."""
    items = answer["content"] if isinstance(answer["content"], list) else [answer["content"]]
    return " ".join(item["text"] for item in items if item["type"] == "text")


TOOLS: dict[str, Callable[[Mapping[str, Any], Context], str]] = {
    "test_sampling": sample,
    "test_elicitation": elicit,
    "test_roots": roots,
    "test_elicitation_sep1034_defaults": defaults,
    "test_elicitation_sep1330_enums": choices,
    "test_streaming_elicitation": go_on,
    "test_missing_capability": capital,
    "test_input_required_result_elicitation": user_name,
    "test_input_required_result_sampling": capital,
    "test_input_required_result_list_roots": roots,
    "test_input_required_result_request_state": confirm,
    "test_input_required_result_tampered_state": confirm,
    "test_input_required_result_multiple_inputs": three_at_once,
    "test_input_required_result_multi_round": two_rounds,
    "test_input_required_result_capabilities": what_it_can,
}
