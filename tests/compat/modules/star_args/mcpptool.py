def execute(*args):
    tool_name, arguments, context = args
    return {"success": True, "result": [len(args), tool_name, arguments, context["workspace_dir"]]}


def get_info(*args, **kwargs):
    return {"given": len(args) + len(kwargs)}
