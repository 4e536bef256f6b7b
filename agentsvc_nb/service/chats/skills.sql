-- name: put
INSERT INTO project_skill (project, name, description, paths, files)
VALUES (:project, :name, :description, :paths, :files)
ON CONFLICT (project, name) DO UPDATE SET description = excluded.description, paths = excluded.paths,
    files = excluded.files

-- name: remove
DELETE FROM project_skill WHERE project = :project AND name = :name

-- name: of_project
SELECT project, name, description, paths FROM project_skill WHERE project = :project ORDER BY name

-- name: of_account
SELECT project_skill.project, project_skill.name, project_skill.description, project_skill.paths
FROM project_skill JOIN project ON project.id = project_skill.project
WHERE project.account = :account ORDER BY project_skill.name

-- name: files
SELECT files FROM project_skill WHERE project = :project AND name = :name
