-- A database as the first version made it; WORKSPACE stands for a project's path.
BEGIN TRANSACTION;
PRAGMA application_id = 1347174734;
PRAGMA user_version = 1;
CREATE TABLE active_tasks (
        project_id INTEGER NOT NULL,
        user_id INTEGER NOT NULL,
        task_id INTEGER NOT NULL,
        PRIMARY KEY (project_id, user_id),
        FOREIGN KEY (project_id, user_id, task_id) REFERENCES tasks (project_id, user_id, id)
    ) WITHOUT ROWID;
INSERT INTO "active_tasks" VALUES(1,1,1);
CREATE TABLE notes (
        id INTEGER PRIMARY KEY,
        task_id INTEGER NOT NULL REFERENCES tasks,
        step_id INTEGER REFERENCES steps,
        text TEXT NOT NULL,
        created_at TEXT NOT NULL
    );
INSERT INTO "notes" VALUES(1,1,2,'a note','2026-01-31T12:00:00Z');
CREATE TABLE projects (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        description TEXT NOT NULL DEFAULT ''
    );
INSERT INTO "projects" VALUES(1,'WORKSPACE','shop','');
CREATE TABLE steps (
        id INTEGER PRIMARY KEY,
        task_id INTEGER NOT NULL REFERENCES tasks,
        number INTEGER NOT NULL,
        title TEXT NOT NULL,
        description TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL CHECK (status IN ('planned', 'started', 'complete')),
        created_at TEXT NOT NULL,
        completed_at TEXT,
        deleted_at TEXT,
        CHECK ((status = 'complete') = (completed_at IS NOT NULL))
    );
INSERT INTO "steps" VALUES(1,1,1,'one','','complete','2026-01-31T12:00:00Z','2026-01-31T12:00:00Z',NULL);
INSERT INTO "steps" VALUES(2,1,2,'two','','started','2026-01-31T12:00:00Z',NULL,NULL);
CREATE TABLE tasks (
        id INTEGER PRIMARY KEY,
        project_id INTEGER NOT NULL REFERENCES projects,
        user_id INTEGER NOT NULL REFERENCES users,
        name TEXT NOT NULL,
        title TEXT NOT NULL,
        created_at TEXT NOT NULL,
        archived_at TEXT,
        planned INTEGER NOT NULL DEFAULT 0 CHECK (planned >= 0),
        started INTEGER NOT NULL DEFAULT 0 CHECK (started IN (0, 1)),
        complete INTEGER NOT NULL DEFAULT 0 CHECK (complete >= 0),
        UNIQUE (project_id, user_id, name),
        UNIQUE (project_id, user_id, id)
    );
INSERT INTO "tasks" VALUES(1,1,1,'fix','Fix it','2026-01-31T12:00:00Z',NULL,0,1,1);
CREATE TABLE users (
        id INTEGER PRIMARY KEY,
        login TEXT NOT NULL UNIQUE,
        alias TEXT
    );
INSERT INTO "users" VALUES(1,'ada',NULL);
CREATE UNIQUE INDEX steps_by_number ON steps (task_id, number) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX step_started ON steps (task_id) WHERE status = 'started' AND deleted_at IS NULL;
CREATE INDEX steps_planned ON steps (task_id, number) WHERE status = 'planned' AND deleted_at IS NULL;
CREATE INDEX notes_by_place ON notes (task_id, step_id);
CREATE TRIGGER step_comes AFTER INSERT ON steps BEGIN
        UPDATE tasks SET
            planned = planned + (new.status = 'planned'),
            started = started + (new.status = 'started'),
            complete = complete + (new.status = 'complete')
        WHERE id = new.task_id;
    END;
CREATE TRIGGER step_changes AFTER UPDATE OF status, deleted_at ON steps BEGIN
        UPDATE tasks SET
            planned = planned + (new.status = 'planned' AND new.deleted_at IS NULL)
                - (old.status = 'planned' AND old.deleted_at IS NULL),
            started = started + (new.status = 'started' AND new.deleted_at IS NULL)
                - (old.status = 'started' AND old.deleted_at IS NULL),
            complete = complete + (new.status = 'complete' AND new.deleted_at IS NULL)
                - (old.status = 'complete' AND old.deleted_at IS NULL)
        WHERE id = new.task_id;
    END;
COMMIT;
