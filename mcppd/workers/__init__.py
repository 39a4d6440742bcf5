"""Worker processes: the spawner, one worker, the pool; tool code runs here and nowhere else (D1)."""
