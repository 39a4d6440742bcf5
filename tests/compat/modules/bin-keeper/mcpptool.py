"""Another module that calls its own package by the same fixed name."""

import sys
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent

core = types.ModuleType("keeper_core")
core.__path__ = [str(HERE)]
core.WHOSE = "bin-keeper"
sys.modules["keeper_core"] = core


def execute(tool_name, arguments, context=None):
    from keeper_core.store.shelf import put

    if tool_name == "bin_add":
        return {"success": True, "result": put(arguments["what"])}
    import keeper_core

    return {"success": True, "result": {"package": keeper_core.WHOSE, "shelf": put.__module__}}
