import os
from os.path import dirname, join

import yaml

import helper


def execute(tool_name, arguments, context):
    with open(join(dirname(__file__), "settings.yaml")) as file:
        settings = yaml.safe_load(file)
    settings["token"] = os.environ.get("READS_YAML_TOKEN", "none")
    settings["timeout"] = os.environ.get("MCPP_TIMEOUT_SECONDS", "none")
    print("looked for", arguments["name"])
    return {"success": True, "result": helper.pick(settings, arguments["name"])}
