"""Agents and people: their connections, what they ask, what they are told."""
