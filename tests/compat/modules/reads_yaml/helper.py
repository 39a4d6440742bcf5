def pick(settings, name):
    return settings.get(name, "unset")
