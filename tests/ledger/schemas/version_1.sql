CREATE TABLE ledger_properties (name VARCHAR NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name));
CREATE TABLE ownership (
    cluster VARCHAR NOT NULL, connector VARCHAR NOT NULL, origin VARCHAR NOT NULL, revision VARCHAR NOT NULL,
    since VARCHAR(27) NOT NULL, desired VARCHAR, applied TEXT NOT NULL,
    PRIMARY KEY (cluster, connector)
);
CREATE TABLE revisions (
    cluster VARCHAR NOT NULL, kind VARCHAR NOT NULL, revision VARCHAR NOT NULL, at VARCHAR(27) NOT NULL,
    result TEXT NOT NULL, PRIMARY KEY (cluster, kind)
);
CREATE TABLE leases (
    cluster VARCHAR NOT NULL, token VARCHAR NOT NULL, host VARCHAR NOT NULL, place VARCHAR NOT NULL,
    pid INTEGER NOT NULL, process_started DOUBLE NOT NULL, since VARCHAR(27) NOT NULL, expires VARCHAR(27) NOT NULL,
    PRIMARY KEY (cluster)
);
INSERT INTO ledger_properties VALUES ('schema_version', '1');
INSERT INTO ownership (cluster, connector, origin, revision, since, desired, applied) VALUES
    ('local', 'orders', 'created', 'r1', '2026-11-21T12:00:00.000000Z', 'd1', '{"database.password":"d2"}');
INSERT INTO revisions VALUES ('local', 'applied', 'r1', '2026-11-21T12:00:00.000000Z', '3 steps');
