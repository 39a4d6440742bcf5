"""The words after a tool's name, read as its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from mcppd.cli.tool_options import Option, options_of
from mcppd.cli.tool_values import convert, convert_all, load_json, shown
from mcppd.core.names import nearest

ARGS: Final = "args"
"""The one option after a tool's name that is ours: JSON for the arguments as a whole."""


class WordsError(Exception):
    """Words that don't make up arguments; every fault found in them."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class HelpWantedError(Exception):
    """`--help` stands where an option of the tool could."""


@dataclass(slots=True)
class _Reading:
    """Words being read: what was given for each property, and what is wrong so far."""

    options: tuple[Option, ...] | None  # None: nobody knows the schema, every option is taken as text
    given: dict[str, list[str | bool]] = field(default_factory=dict)
    whole: list[str] = field(default_factory=list)  # values of --args
    faults: list[str] = field(default_factory=list)
    meant: list[list[str]] = field(
        default_factory=list
    )  # of each unknown option the flags that it is close to


def wants_input(words: Sequence[str]) -> bool:
    """Whether the words ask for standard input to be read (`--args -`)."""
    return "--args=-" in words or ("--args", "-") in pairwise(words)


def parse_words(
    words: Sequence[str], schema: Mapping[str, Any] | None, input_text: str = ""
) -> dict[str, Any]:
    """The arguments that the words stand for; raises WordsError, HelpWantedError.

    Without a schema every option is text, or true where it has no value; the daemon has the
    last word on such a tool. `input_text` is what `--args -` stands for.
    """
    reading = _Reading(None if schema is None else options_of(schema))
    reading.faults += [f"{shown(word)} is not UTF-8" for word in words if not _is_text(word)]
    rest = list(words)
    while rest:
        _take(reading, rest)
    whole = _whole(reading, input_text)
    arguments = (whole or {}) | _converted(reading)
    if whole is not None and (missing := _missing(reading, arguments)):
        reading.faults.append(f"missing {', '.join(missing)}")
    if reading.faults:
        raise WordsError(reading.faults)
    return arguments


def _is_text(word: str) -> bool:
    """Whether a word can be sent; bytes that are no UTF-8 come as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in word)


def _take(reading: _Reading, rest: list[str]) -> None:
    """Read one option off the front of the words, with its value."""
    word = rest.pop(0)
    name, has_value, value = word[2:].partition("=")
    if not word.startswith("--") or not name:
        reading.faults.append(f"unexpected {shown(word)}: a tool's arguments are options, as in --name value")
    elif name == ARGS:
        _put_whole(reading, value if has_value else _next_value(rest))
    elif reading.options is None:
        _put_untyped(reading, name, value if has_value else _next_value(rest))
    elif option := find_option(name, reading.options):
        _put(reading, option, value if has_value else None, rest)
    elif (option := _denied(name, reading.options)) and not has_value:
        reading.given.setdefault(option.name, []).append(False)
    elif name == "help" and not has_value:
        raise HelpWantedError
    else:
        reading.meant.append(_near(name, reading.options))
        reading.faults.append(_unknown(name, reading.options))
        if not has_value:
            _next_value(rest)


def find_option(name: str, options: tuple[Option, ...]) -> Option | None:
    """The option of that name; exactly that, else with dashes and underscores taken as equal."""
    for option in options:
        if option.name == name:
            return option
    same = [option for option in options if option.name.replace("_", "-") == name.replace("_", "-")]
    return same[0] if same else None


def _denied(name: str, options: tuple[Option, ...]) -> Option | None:
    """The flag that `--no-…` turns off."""
    prefix = name[:3].replace("_", "-")
    option = find_option(name[3:], options) if prefix == "no-" else None
    return option if option and "boolean" in option.kinds else None


def _next_value(rest: list[str]) -> str | None:
    """The next word if it can be a value: "-5" can, "--x" can't."""
    return rest.pop(0) if rest and not rest[0].startswith("--") else None


def _put(reading: _Reading, option: Option, value: str | None, rest: list[str]) -> None:
    if value is None:
        value = _next_value(rest)  # a flag's too: nothing but an option or a value can stand there
    if value is not None:
        reading.given.setdefault(option.name, []).append(value)
    elif option.is_flag:
        reading.given.setdefault(option.name, []).append(True)
    elif "--help" in rest[:1]:
        raise HelpWantedError
    else:
        hint = f" (one that begins with -- as {option.flag}={rest[0]})" if rest else ""
        reading.faults.append(f"{option.flag} needs a value{hint}")


def _put_untyped(reading: _Reading, name: str, value: str | None) -> None:
    if name == "help" and value is None:
        raise HelpWantedError
    reading.given.setdefault(name, []).append(True if value is None else value)


def _put_whole(reading: _Reading, value: str | None) -> None:
    if value is None:
        reading.faults.append("--args needs a JSON object, or - to read it from standard input")
    elif reading.whole:
        reading.faults.append("--args is given twice")
    else:
        reading.whole.append(value)


def _whole(reading: _Reading, input_text: str) -> dict[str, Any] | None:
    """The arguments that --args brings; None if they can't be read."""
    if not reading.whole:
        return {}
    text = input_text if reading.whole[0] == "-" else reading.whole[0]
    try:
        found = load_json(text)
    except ValueError as error:
        reading.faults.append(f"--args is not JSON: {error}")
        return None
    if isinstance(found, dict):
        return found
    reading.faults.append(f'--args must be a JSON object, as in \'{{"name": "value"}}\', not {shown(text)}')
    return None


def _converted(reading: _Reading) -> dict[str, Any]:
    """The arguments that the tool's own options bring."""
    if reading.options is None:
        return {name: values if len(values) > 1 else values[0] for name, values in reading.given.items()}
    found = {}
    for option in reading.options:
        if values := reading.given.get(option.name):
            try:
                found[option.name] = _value(option, values)
            except ValueError as error:
                reading.faults.append(f"{option.flag}: {error}")
    return found


def _value(option: Option, values: list[str | bool]) -> Any:
    if isinstance(values[-1], bool) and len(values) == 1:
        return values[0]
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) < len(values):
        raise ValueError(f"is given {len(values)} times; it takes one value")
    if "array" in option.kinds and not (len(texts) == 1 and "string" in option.kinds):
        return _array(option, texts)
    if len(texts) > 1:
        raise ValueError(f"is given {len(texts)} times; it takes one value")
    return convert(texts[0], option.schema, option.root)


def _array(option: Option, texts: list[str]) -> Any:
    """An array, or the one value of another kind that the schema allows as well."""
    try:
        return convert_all(texts, option.items, option.root)
    except ValueError:
        if len(texts) > 1 or option.kinds == {"array"}:
            raise
        return convert(texts[0], option.schema, option.root)


def _missing(reading: _Reading, arguments: Mapping[str, Any]) -> list[str]:
    """The options that are required and not given, nor meant by an unknown one."""
    known = arguments.keys() | reading.given.keys()
    missing = [each.flag for each in reading.options or () if each.is_required and each.name not in known]
    for flags in reading.meant:
        meant = next((flag for flag in flags if flag in missing), None)
        if meant is not None:
            missing.remove(meant)  # its own message asks whether that was meant
    return missing


def _near(name: str, options: tuple[Option, ...]) -> list[str]:
    """The flags that an unknown option may have been meant for, the closest first."""
    return ["--" + close for close in nearest(name.replace("_", "-"), [each.flag[2:] for each in options])]


def _unknown(name: str, options: tuple[Option, ...]) -> str:
    """The message for an option that the tool doesn't have."""
    if not options:
        return f"unknown option --{name}: the tool takes no arguments"
    flags = [option.flag for option in options]
    near = _near(name, options)
    if name in ("json", "workspace", "config", "socket"):
        return f"unknown option --{name}: it goes before the tool's name"
    return f"unknown option --{name}: " + (
        f"did you mean {' or '.join(near)}?" if near else f"the tool has {', '.join(flags)}"
    )
