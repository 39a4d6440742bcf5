USAGE = "keeper_add adds, keeper_list lists"
TABLE = "CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL, note TEXT)"
INSERT = "INSERT INTO tasks (title, note) VALUES (?, ?)"
