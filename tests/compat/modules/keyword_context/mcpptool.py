import os


def execute(tool_name, arguments, *, context):
    return {
        "success": True,
        "result": {
            "workspace": context["workspace_dir"],
            "cwd": os.getcwd(),
            "module": context["module_dir"],
            "scope": context["module_scope"],
        },
    }


def get_info(*, context=None):
    return {"scope": context["module_scope"]}
