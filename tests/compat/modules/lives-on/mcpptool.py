import os
import queue
import threading

WORK = queue.Queue()
DONE = []
PROCESS = os.getpid()


def _worker():
    while True:
        DONE.append(WORK.get())
        WORK.task_done()


THREAD = threading.Thread(target=_worker, daemon=True)
THREAD.start()


def execute(tool_name, arguments, context=None):
    if tool_name == "begin_work":
        for step in range(arguments["steps"]):
            WORK.put(step)
        return {"success": True, "result": "begun"}
    return {
        "success": True,
        "result": {"done": len(DONE), "alive": THREAD.is_alive(), "same": os.getpid() == PROCESS},
    }
