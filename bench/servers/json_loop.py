"""The floor: what an MCP server with one tool needs at the least, in the standard library."""

import json
import sys
from typing import Any

ECHO = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
for line in sys.stdin.buffer:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {},
    }
    if asked["method"] == "tools/list":
        result = {"tools": [ECHO]}
    elif asked["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": asked["params"]["arguments"]["text"]}]}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n")
    sys.stdout.flush()
