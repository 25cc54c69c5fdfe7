CREATE TABLE ledger_properties (name VARCHAR NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name));
CREATE TABLE ownership (
    cluster VARCHAR NOT NULL, connector VARCHAR NOT NULL, origin VARCHAR NOT NULL, revision VARCHAR NOT NULL,
    since VARCHAR(27) NOT NULL, desired VARCHAR, applied TEXT NOT NULL, on_delete VARCHAR DEFAULT 'keep' NOT NULL,
    secret_references TEXT DEFAULT '{}' NOT NULL, PRIMARY KEY (cluster, connector)
);
CREATE TABLE operations (
    cluster VARCHAR NOT NULL, name VARCHAR NOT NULL, connector VARCHAR NOT NULL, kind VARCHAR NOT NULL,
    state VARCHAR NOT NULL, digest VARCHAR, revision VARCHAR NOT NULL, since VARCHAR(27) NOT NULL,
    failures INTEGER NOT NULL, final BOOLEAN NOT NULL, message TEXT NOT NULL, warning TEXT NOT NULL,
    digest_before VARCHAR, digest_after VARCHAR, acknowledged TEXT NOT NULL, declared BLOB, snapshot BLOB, entries INTEGER, sent INTEGER,
    PRIMARY KEY (cluster, name)
);
CREATE TABLE operation_pieces (
    cluster VARCHAR NOT NULL, name VARCHAR NOT NULL, part VARCHAR NOT NULL, number INTEGER NOT NULL,
    entries INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (cluster, name, part, number)
);
CREATE TABLE revisions (
    cluster VARCHAR NOT NULL, kind VARCHAR NOT NULL, revision VARCHAR NOT NULL, at VARCHAR(27) NOT NULL,
    result TEXT NOT NULL, PRIMARY KEY (cluster, kind)
);
CREATE TABLE restarts (
    cluster VARCHAR NOT NULL, connector VARCHAR NOT NULL, number INTEGER NOT NULL, last VARCHAR(27) NOT NULL,
    PRIMARY KEY (cluster, connector)
);
CREATE TABLE restart_requests (
    cluster VARCHAR NOT NULL, connector VARCHAR NOT NULL, kind VARCHAR NOT NULL, id VARCHAR NOT NULL,
    PRIMARY KEY (cluster, connector, kind)
);
CREATE TABLE conditions (
    cluster VARCHAR NOT NULL, connector VARCHAR NOT NULL, type VARCHAR NOT NULL, status VARCHAR NOT NULL,
    reason VARCHAR NOT NULL, message TEXT NOT NULL, since VARCHAR(27) NOT NULL, revision VARCHAR NOT NULL,
    request VARCHAR NOT NULL, PRIMARY KEY (cluster, connector, type, request)
);
CREATE TABLE config_histories (
    cluster VARCHAR NOT NULL, connector VARCHAR NOT NULL, history TEXT NOT NULL, PRIMARY KEY (cluster, connector)
);
CREATE TABLE offset_positions (
    cluster VARCHAR NOT NULL, connector VARCHAR NOT NULL, digest VARCHAR NOT NULL, since VARCHAR(27) NOT NULL,
    partitions TEXT NOT NULL DEFAULT '{}', distance DOUBLE NOT NULL DEFAULT '0', PRIMARY KEY (cluster, connector)
);
CREATE TABLE steps (
    id INTEGER NOT NULL, cluster VARCHAR NOT NULL, at VARCHAR(27) NOT NULL, revision VARCHAR NOT NULL,
    author VARCHAR NOT NULL, connector VARCHAR NOT NULL, action VARCHAR NOT NULL, operation VARCHAR NOT NULL,
    result VARCHAR NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL, seconds DOUBLE NOT NULL, PRIMARY KEY (id)
);
CREATE TABLE suspensions (
    cluster VARCHAR NOT NULL, connector VARCHAR NOT NULL, who VARCHAR NOT NULL, since VARCHAR(27) NOT NULL,
    reason TEXT NOT NULL, PRIMARY KEY (cluster, connector)
);
CREATE TABLE stopped_connectors (
    cluster VARCHAR NOT NULL, connector VARCHAR NOT NULL, returns_to VARCHAR NOT NULL,
    PRIMARY KEY (cluster, connector)
);
CREATE TABLE leases (
    name VARCHAR NOT NULL, number INTEGER NOT NULL, token VARCHAR NOT NULL, host VARCHAR NOT NULL,
    place VARCHAR NOT NULL, pid INTEGER NOT NULL, process_started DOUBLE NOT NULL, since VARCHAR(27) NOT NULL,
    expires VARCHAR(27) NOT NULL, PRIMARY KEY (name)
);
CREATE TABLE reviewed_plans (
    pull_request INTEGER NOT NULL, purpose VARCHAR NOT NULL, digest VARCHAR NOT NULL, at VARCHAR(27) NOT NULL,
    plan TEXT NOT NULL, PRIMARY KEY (pull_request, purpose)
);
CREATE TABLE approvals (
    pull_request INTEGER NOT NULL, digest VARCHAR NOT NULL, who VARCHAR NOT NULL, at VARCHAR(27) NOT NULL,
    place VARCHAR NOT NULL, plan TEXT NOT NULL, PRIMARY KEY (pull_request, digest, who)
);
CREATE TABLE rollout_decisions (
    cluster VARCHAR NOT NULL, revision VARCHAR NOT NULL, connector VARCHAR NOT NULL, choice VARCHAR NOT NULL,
    who VARCHAR NOT NULL, since VARCHAR(27) NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (cluster, revision, connector)
);
CREATE INDEX operations_by_time ON operations (cluster, since);
CREATE INDEX operations_by_state ON operations (cluster, state, since);
CREATE INDEX operations_by_connector ON operations (cluster, connector, since);
CREATE INDEX operations_by_kind ON operations (cluster, kind);
INSERT INTO ledger_properties VALUES ('schema_version', '11');
INSERT INTO ownership (cluster, connector, origin, revision, since, desired, applied) VALUES
    ('local', 'orders', 'created', 'r1', '2026-11-21T12:00:00.000000Z', 'd1', '{"database.password":"d2"}');
INSERT INTO revisions VALUES ('local', 'applied', 'r1', '2026-11-21T12:00:00.000000Z', '3 steps');
INSERT INTO operations (cluster, name, connector, kind, state, digest, revision, since, failures, final, message,
    warning, acknowledged) VALUES
    ('local', 'skip', 'orders', 'alter', 'applied', 'd3', 'r1', '2026-11-21T12:00:00.000000Z', 0, FALSE, '', '', '[]');
INSERT INTO restarts VALUES ('local', 'orders', 2, '2026-11-21T12:00:00.000000Z');
INSERT INTO restart_requests VALUES ('local', 'orders', 'restart', 'one');
INSERT INTO suspensions VALUES ('local', 'orders', 'ana', '2026-11-21T12:00:00.000000Z', 'INC-1');
INSERT INTO leases VALUES
    ('local', 1, 't', 'far-away', 'p', 1, 1.0, '2026-11-21T12:00:00.000000Z', '2126-11-21T12:00:00.000000Z');
INSERT INTO conditions VALUES
    ('local', 'orders', 'Healthy', 'True', 'Running', '', '2026-11-21T12:00:00.000000Z', 'r1', ''),
    ('local', 'orders', 'Warning', 'True', 'ListOffsets', 'Failed', '2026-11-21T12:00:00.000000Z', 'r1', 'a');
INSERT INTO offset_positions VALUES ('local', 'orders', 'd4', '2026-11-21T12:00:00.000000Z', '{}', 0);
INSERT INTO steps (cluster, at, revision, author, connector, action, operation, result, reason, message, seconds) VALUES
    ('local', '2026-11-21T12:00:00.000000Z', 'r1', 'Ann', 'orders', 'restart', '', 'applied', 'automatic restart 1 of 6; x', '', 1),
    ('local', '2026-11-21T12:01:00.000000Z', 'r1', 'Ann', 'orders', 'rollback', '', 'applied', 'from the config of r1', '', 1),
    ('local', '2026-11-21T12:02:00.000000Z', 'r2', 'Ann', 'orders', 'configure', '', 'failed', '1 key differs', '400: no', 1);
