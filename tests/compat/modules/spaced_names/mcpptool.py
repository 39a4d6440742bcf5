NOTES = []


def execute(tool_name, arguments, context=None):
    if tool_name == "add note":
        NOTES.append(arguments["text"])
        return {"success": True, "result": len(NOTES)}
    if tool_name == "list all notes":
        return {"success": True, "result": NOTES}
    return {"success": False, "error": f"no such tool: {tool_name!r}"}
