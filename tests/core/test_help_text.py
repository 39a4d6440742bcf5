"""What `help` says, to a model and to people."""

from __future__ import annotations

from typing import Any

from mcppd.core import help_text
from mcppd.core.catalog import Catalog, Module, build_catalog, make_offer
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.items import make_item

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What to write.\nAll of it."},
        "kind": {"enum": ["short", "long"], "default": "short"},
        "many": {"type": ["integer", "null"]},
        "any": {},
    },
    "required": ["text"],
}
ITEMS = (
    make_item(
        "prompts",
        {
            "name": "review",
            "title": "Review it",
            "arguments": [{"name": "code", "required": True}, {"name": "style"}],
        },
    ),
    make_item("resources", {"uri": "notes://all", "name": "all", "description": "All notes.\nMore."}),
    make_item("resourceTemplates", {"uriTemplate": "notes://{id}", "name": "one"}),
)
FAULT = Fault("SyntaxError: invalid syntax", "/m/calc/mcpptool.py", 3, 5, "    x = (")


def generation(name: str) -> Generation:
    return Generation(name, 1, f"/m/{name}", f"/m/{name}/mcpptool.py", "", {})


def module(name: str, *tools: str, **options: Any) -> Module:
    offers = tuple(
        make_offer(tool, {"name": tool, "description": f"Does {tool}.\nAt length.", "inputSchema": SCHEMA})
        for tool in tools
    )
    return Module(name, f"/m/{name}", offers=offers, generation=generation(name), **options)


def whole() -> Catalog:
    notes = module("notes", "add", about="keeps notes", items=ITEMS)
    calc = module("calc", "sum", "add", fault=FAULT, since="12:00:01", items=ITEMS[:2])
    return build_catalog([notes, calc], [Fault("odd", "/m/tools.yaml", 2)])


def test_the_model_is_told_every_tool_prompt_and_resource_by_module() -> None:
    text = help_text.overview(whole(), "12:00:02 notes 1→2", ["a note"]).text
    assert (
        text
        == """\
## notes — keeps notes
- `add` (also `notes__add`): Does add.
- prompt `review` (also `notes__review`) with the arguments code, style?: Review it
- resource `notes://all`: All notes.
- resource template `notes://{id}`

## calc
BROKEN since 12:00:01: /m/calc/mcpptool.py:3:5: SyntaxError: invalid syntax
    x = (
The last good version answers until the file is repaired and saved.
- `calc__add`: Does add.
- `sum` (also `calc__sum`): Does sum.
- prompt `calc__review` with the arguments code, style?: Review it

`add` of module calc is listed as `calc__add`: the plain name belongs to module notes.

The prompt `review` of module calc is listed as `calc__review`: the plain name belongs to module notes.

The resource `notes://all` of module calc is not served: module notes comes first with it.

Warning: /m/tools.yaml:2: odd

Last reload: 12:00:02 notes 1→2

a note"""
    )


def test_people_are_shown_the_same_in_short_with_what_is_broken_first() -> None:
    display = help_text.overview(whole(), "12:00:02 notes 1→2", ["a note"]).display
    assert (
        display
        == """\
**2 modules**: 3 tools, 2 prompts, 1 resource, 1 resource template, **1 broken**

### calc: broken since 12:00:01, its last good version answers

- ✗ /m/calc/mcpptool.py:3:5: SyntaxError: invalid syntax `x = (`
- `calc__add`: Does add.
- `sum`: Does sum.
- prompt `calc__review` (code, style?): Review it

### notes
keeps notes

- `add`: Does add.
- prompt `review` (code, style?): Review it
- resource `notes://all`: All notes.
- resource template `notes://{id}`

*`add` of module calc is listed as `calc__add`: the plain name belongs to module notes.*

*The prompt `review` of module calc is listed as `calc__review`: the plain name belongs to module notes.*

*The resource `notes://all` of module calc is not served: module notes comes first with it.*

*Warning: /m/tools.yaml:2: odd*

*a note*

*Last reload: 12:00:02 notes 1→2*"""
    )


def test_without_modules_both_say_what_to_do() -> None:
    said = help_text.overview(build_catalog([]), None)
    assert "tools.yaml" in said.text
    assert "tools.yaml" in said.display


def test_a_tool_is_told_with_its_schema_and_shown_with_its_arguments() -> None:
    catalog = whole()
    tool = catalog.find("add")
    assert tool is not None
    said = help_text.of_some(tool.module, [tool], "its own words")
    assert "review" not in said.text
    assert '"required": [' in said.text
    assert "its own words" in said.text
    assert (
        said.display
        == """\
### notes
keeps notes

- `add`: Does add.

**Arguments**

- `text` (string, required): What to write. All of it.
- `kind` (short | long, default "short")
- `many` (integer or null)
- `any`

its own words"""
    )


def test_a_module_is_told_with_all_that_it_has() -> None:
    catalog = whole()
    said = help_text.of_module(catalog, catalog.modules[0], "")
    for text in (said.text, said.display):
        assert "prompt `review`" in text
        assert "resource template `notes://{id}`" in text
        assert "calc" not in text
    assert "Arguments" not in said.display


def test_a_long_description_is_a_line_for_people() -> None:
    offer = make_offer("t", {"name": "t", "description": "x" * 500, "inputSchema": {"type": "object"}})
    said = help_text.overview(build_catalog([Module("m", "/m", offers=(offer,))]), None)
    assert "x" * 500 in said.text
    assert "x" * 99 + "…" in said.display
    assert "x" * 101 not in said.display


def test_a_tool_without_arguments_says_so() -> None:
    offer = make_offer("t", {"name": "t", "inputSchema": {"type": "object"}})
    catalog = build_catalog([Module("m", "/m", offers=(offer,))])
    said = help_text.of_some(catalog.modules[0], catalog.called("t"), "")
    assert "takes no arguments" in said.display


def test_a_prompt_is_told_with_its_definition_and_shown_with_its_arguments() -> None:
    catalog = whole()
    (prompt,) = catalog.called("review")
    said = help_text.of_some(prompt.module, [prompt], "")
    assert '"name": "code"' in said.text
    assert "notes://all" not in said.text
    assert said.display.endswith("**Arguments**\n\n- `code` (required)\n- `style`")


def test_a_resource_is_told_with_its_definition() -> None:
    catalog = whole()
    (resource,) = catalog.called("notes://all")
    (template,) = catalog.called("notes://7")
    assert catalog.called("notes://{id}")[0] is template
    assert '"description": "All notes.\\nMore."' in help_text.of_some(resource.module, [resource], "").text
    said = help_text.of_some(template.module, [template], "")
    assert '"uriTemplate": "notes://{id}"' in said.text
    assert "rguments" not in said.display


def test_nearest_are_all_kinds_of_things() -> None:
    near = whole().nearest_of_all
    assert near("reviw") == ["review"]
    assert near("notes://al")[0] == "notes://all"
    assert near("note")[0] == "notes"
    assert near("halp")[0] == "help"
