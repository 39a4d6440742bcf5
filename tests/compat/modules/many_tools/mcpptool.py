LOADS = 0


def initialize():
    global LOADS
    LOADS += 1
    return {"success": False, "message": "no index yet"}


def _times(factor):
    def tool(n):
        return {"success": True, "result": {"product": n * factor, "loads": LOADS}}

    return tool


TOOLS = {f"many_{factor:02}": _times(factor) for factor in range(1, 37)}


def execute(tool_name, arguments, context=None):
    tool = TOOLS.get(tool_name)
    if tool is None:
        return {"success": False, "error": f"Unknown tool: {tool_name}"}
    return tool(**arguments)
