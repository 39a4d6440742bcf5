"""Registers its own directory as a package of a fixed name, and keeps a database and a log beside itself."""

import importlib.util
import logging
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "keeper_core"

if PACKAGE not in sys.modules:
    spec = importlib.util.spec_from_file_location(
        PACKAGE,
        os.path.join(HERE, "__init__.py"),
        submodule_search_locations=[HERE],
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)

logging.basicConfig(filename=os.path.join(HERE, "keeper.log"), level=logging.INFO, force=True)
logger = logging.getLogger(__name__)


def initialize():
    from keeper_core.store import database

    database.create()
    logger.info("the database is there")
    return {"success": True, "message": "ready"}


def execute(tool_name, arguments, context=None):
    from keeper_core.store import database

    logger.info("%s begins", tool_name)
    if tool_name == "keeper_add":
        title = arguments.pop("title")
        note = arguments.pop("note", None)
        if arguments:
            return {"success": False, "error": f"unexpected: {sorted(arguments)}"}
        number, count = database.add(title, note)
        return {"success": True, "result": {"number": number, "count": count}}
    if tool_name == "keeper_list":
        rows = database.every()
        return {"success": True, "result": rows, "display": "\n".join(f"- {title}" for _, title, _ in rows)}
    return {
        "success": True,
        "result": {
            "here": HERE,
            "package": sys.modules[PACKAGE].WHOSE,
            "database": database.PATH,
            "loaded": sys.modules["keeper_core.store.database"].__file__,
        },
    }


def get_info(context=None):
    from keeper_core.store.texts import USAGE

    return {"usage": USAGE, "directory": (context or {}).get("module_dir")}
