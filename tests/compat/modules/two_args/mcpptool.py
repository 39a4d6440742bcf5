def execute(tool_name, arguments):
    by = arguments.pop("by", " ")
    words = arguments.pop("words")
    return {"success": True, "result": by.join(words), "display": f"**{len(words)} words**, {len(arguments)} left"}


def get_info():
    return {"how": "joins words"}
