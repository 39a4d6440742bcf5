WHOSE = "task-keeper"
