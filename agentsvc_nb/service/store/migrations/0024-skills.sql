-- The skills of projects. `paths` and `files` are JSON: a list, and the texts by path.
CREATE TABLE project_skill (
    project     TEXT NOT NULL,
    name        TEXT NOT NULL,
    description TEXT NOT NULL,
    paths       TEXT NOT NULL,
    files       TEXT NOT NULL,
    PRIMARY KEY (project, name)
);
