"""What names and URIs lead to: the tools, prompts, resources and templates of all modules together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mcppd.core import names
from mcppd.core.items import Item
from mcppd.core.modules import Module, Offer


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A tool that can be called; compared by identity."""

    name: str  # as it is listed
    full_name: str  # `<module>__<tool>`, always callable
    own_name: str  # the author's, what `execute` gets
    module: Module
    offer: Offer

    @property
    def key(self) -> str:
        """What lists are in order of."""
        return self.name

    @property
    def input_schema(self) -> Any:
        """What the author wrote; arguments are validated against this."""
        return self.offer.definition.get("inputSchema")

    @property
    def output_schema(self) -> Any:
        """The author's `outputSchema`, None if there is none."""
        return self.offer.definition.get("outputSchema")

    @property
    def advertised(self) -> dict[str, Any]:
        """The definition as clients get it, under its wire name."""
        return {**self.offer.shown, "name": self.name}

    @property
    def appearance(self) -> tuple[str, str]:
        """Equal for two tools that look the same to clients."""
        return self.name, self.offer.digest

    @property
    def is_shadowed(self) -> bool:
        """Whether the plain name belongs to another tool."""
        return self.name == self.full_name and self.name != names.wire_name(self.own_name)


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """A prompt that can be got, named as tools are; compared by identity."""

    name: str  # as it is listed
    full_name: str  # `<module>__<prompt>`, always known
    own_name: str  # the author's, what `get_prompt` gets
    module: Module
    item: Item

    @property
    def key(self) -> str:
        """What lists are in order of."""
        return self.name

    @property
    def advertised(self) -> dict[str, Any]:
        """The definition as clients get it, under its wire name."""
        return {**self.item.shown, "name": self.name}

    @property
    def appearance(self) -> tuple[str, str]:
        """Equal for two prompts that look the same to clients."""
        return self.name, self.item.digest

    @property
    def is_shadowed(self) -> bool:
        """Whether the plain name belongs to another prompt."""
        return self.name == self.full_name and self.name != names.wire_name(self.own_name)

    def missing(self, arguments: Mapping[str, Any]) -> list[str]:
        """The names of the arguments that it requires and that are not among these."""
        known = self.item.definition.get("arguments") or ()
        return [each["name"] for each in known if each.get("required") and each["name"] not in arguments]


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource that can be read; compared by identity."""

    uri: str
    module: Module
    item: Item

    @property
    def key(self) -> str:
        """What lists are in order of."""
        return self.uri

    @property
    def advertised(self) -> Mapping[str, Any]:
        """The definition as clients get it."""
        return self.item.shown

    @property
    def appearance(self) -> tuple[str, str]:
        """Equal for two resources that look the same to clients."""
        return self.uri, self.item.digest


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A resource template; compared by identity."""

    uri_template: str
    module: Module
    item: Item

    @property
    def key(self) -> str:
        """What lists are in order of."""
        return self.uri_template

    @property
    def advertised(self) -> Mapping[str, Any]:
        """The definition as clients get it."""
        return self.item.shown

    @property
    def appearance(self) -> tuple[str, str]:
        """Equal for two templates that look the same to clients."""
        return self.uri_template, self.item.digest


Served: TypeAlias = Tool | Prompt | Resource | Template
