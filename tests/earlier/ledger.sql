BEGIN TRANSACTION;
CREATE TABLE approvals (
	pull_request INTEGER NOT NULL, 
	digest VARCHAR NOT NULL, 
	who VARCHAR NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	place VARCHAR NOT NULL, 
	"plan" TEXT NOT NULL, 
	PRIMARY KEY (pull_request, digest)
);
INSERT INTO "approvals" VALUES(7,'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd','ana','2026-11-21T12:05:00.000000Z','https://git.example/7#1','{"clusters":{"local":{"orders":{"effects":[{"count":0,"digest":null,"distance":null,"far":"","kind":"delete","operation":null,"partitions":null},{"count":2,"digest":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","distance":7,"far":"7 records","kind":"rewind","operation":"skip","partitions":["{\"filename\":\"/0\"}","{\"filename\":\"/1\"}"]}],"steps":["eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"]}}},"digest":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","pull_request":7}');
CREATE TABLE conditions (
	cluster VARCHAR NOT NULL, 
	connector VARCHAR NOT NULL, 
	type VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	reason VARCHAR NOT NULL, 
	message TEXT NOT NULL, 
	since VARCHAR(27) NOT NULL, 
	revision VARCHAR NOT NULL, 
	PRIMARY KEY (cluster, connector, type)
);
INSERT INTO "conditions" VALUES('local','orders','Ready','False','TaskFailed','task 0 is FAILED','2026-11-21T12:00:00.000000Z','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
INSERT INTO "conditions" VALUES('local','','Ready','False','TaskFailed','task 0 is FAILED','2026-11-21T12:00:00.000000Z','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
CREATE TABLE config_histories (
	cluster VARCHAR NOT NULL, 
	connector VARCHAR NOT NULL, 
	history TEXT NOT NULL, 
	PRIMARY KEY (cluster, connector)
);
INSERT INTO "config_histories" VALUES('local','orders','{"healthy":{"config":{"name":"Bestellungen für Köln","topic":"a"},"secrets":{"password":["env","ORDERS"]}},"rolled_back":{"at":"2026-11-21T12:05:00+00:00","digest":"d2","keys":["topic"],"reason":"task 0 is FAILED","revision":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"trial":{"digest":"d1","revision":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","since":"2026-11-21T12:00:00+00:00","was_healthy":true}}');
INSERT INTO "config_histories" VALUES('local','payments','{"healthy":null,"rolled_back":null,"trial":null}');
CREATE TABLE leases (
	name VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	token VARCHAR NOT NULL, 
	host VARCHAR NOT NULL, 
	place VARCHAR NOT NULL, 
	pid INTEGER NOT NULL, 
	process_started DOUBLE NOT NULL, 
	since VARCHAR(27) NOT NULL, 
	expires VARCHAR(27) NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE ledger_properties (
	name VARCHAR NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "ledger_properties" VALUES('schema_version','7');
INSERT INTO "ledger_properties" VALUES('key_fingerprint','b3196b5e7a6f792055f34da1e21cf43b5b055724317d2325019b44d79590797d');
CREATE TABLE offset_positions (
	cluster VARCHAR NOT NULL, 
	connector VARCHAR NOT NULL, 
	digest VARCHAR NOT NULL, 
	since VARCHAR(27) NOT NULL, 
	PRIMARY KEY (cluster, connector)
);
INSERT INTO "offset_positions" VALUES('local','orders','ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff','2026-11-21T12:00:00.000000Z');
CREATE TABLE operation_pieces (
	cluster VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	part VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	entries INTEGER NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (cluster, name, part, number)
);
INSERT INTO "operation_pieces" VALUES('local','very-large','before',0,1,X'789CAB562A482C2AC92CC9CCCF53B2AA564ACBCC49CD4BCC4D55B252D23750AAD551CA4F4B2B4E2D014915E417439599D7D67201002A801308');
INSERT INTO "operation_pieces" VALUES('local','very-large','declared',0,2,X'789CAB562A482C2AC92CC9CCCF53B2AA564ACBCC49CD4BCC4D55B252D23750AAD551CA4F4B2B4E2D014915E417439519D6D67255E3D66788AC2FAF3427A7960B000F2522A3');
CREATE TABLE operations (
	cluster VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	connector VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	digest VARCHAR, 
	revision VARCHAR NOT NULL, 
	since VARCHAR(27) NOT NULL, 
	failures INTEGER NOT NULL, 
	final BOOLEAN NOT NULL, 
	message TEXT NOT NULL, 
	warning TEXT NOT NULL, 
	digest_before VARCHAR, 
	digest_after VARCHAR, 
	acknowledged TEXT NOT NULL, 
	declared BLOB, 
	snapshot BLOB, 
	entries INTEGER, 
	sent INTEGER, 
	PRIMARY KEY (cluster, name)
);
INSERT INTO "operations" VALUES('local','skip','orders','alter','applied','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-11-21T12:05:00.000000Z',0,0,'','externally managed','5452699c4750674e8c4bfff1f6139da49c55072bd52f6d61ad7509a9a96b2db3','98be1a584fa54a6810c8040fd0f7ea985b91845dc7924bebf7c911fb6fadfb10','["rewind", "tombstone"]',X'789C8B8E56AA8E514ACBCC49CD4BCC4D8D51B28A51D2378851AA55D2018917E417679664E6E701C50D6B956275B02836042BCE2BCDC9898D0500C0A6189D',X'789C8B8E56AA8E514ACBCC49CD4BCC4D8D51B28A51D2378851AA55D2018917E417679664E6E701C5CD6B956275B02836C4A6D802A838160038B51D07',NULL,NULL);
INSERT INTO "operations" VALUES('local','open','orders','alter','in_progress','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-11-21T12:00:00.000000Z',0,0,'','','5452699c4750674e8c4bfff1f6139da49c55072bd52f6d61ad7509a9a96b2db3',NULL,'["rewind", "tombstone"]',X'789C8B8E56AA8E514ACBCC49CD4BCC4D8D51B28A51D2378851AA55D2018917E417679664E6E701C50D6B956275B02836042BCE2BCDC9898D0500C0A6189D',X'789C8B8E56AA8E514ACBCC49CD4BCC4D8D51B28A51D2378851AA55D2018917E417679664E6E701C5CD6B956275B02836C4A6D802A838160038B51D07',NULL,NULL);
INSERT INTO "operations" VALUES('local','unknown','orders','alter','unknown',NULL,'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-11-21T12:00:00.000000Z',0,0,'','',NULL,NULL,'[]',NULL,NULL,NULL,NULL);
INSERT INTO "operations" VALUES('local','very-large','orders','alter','in_progress','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-11-21T12:00:00.000000Z',0,0,'','','bf578ab3425f90bfee99654f65ee2b73cf00c12b31713d45f964f185f1bdc137',NULL,'["rewind", "tombstone"]',NULL,NULL,2,1);
INSERT INTO "operations" VALUES('local','refused','orders','alter','failed','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-11-21T12:05:00.000000Z',1,1,'400: no','',NULL,NULL,'["rewind", "tombstone"]',NULL,NULL,NULL,NULL);
INSERT INTO "operations" VALUES('local','seed','orders','alter','intended','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-11-21T12:00:00.000000Z',0,0,'','',NULL,NULL,'["rewind", "tombstone"]',X'789C8B8E56AA8E514ACBCC49CD4BCC4D8D51B28A51D2378851AA55D2018917E417679664E6E701C50D6B956275B02836042BCE2BCDC9898D0500C0A6189D',NULL,NULL,NULL);
CREATE TABLE ownership (
	cluster VARCHAR NOT NULL, 
	connector VARCHAR NOT NULL, 
	origin VARCHAR NOT NULL, 
	revision VARCHAR NOT NULL, 
	since VARCHAR(27) NOT NULL, 
	desired VARCHAR, 
	applied TEXT NOT NULL, 
	on_delete VARCHAR DEFAULT 'keep' NOT NULL, 
	secret_references TEXT DEFAULT '{}' NOT NULL, 
	PRIMARY KEY (cluster, connector)
);
INSERT INTO "ownership" VALUES('local','orders','created','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-11-21T12:00:00.000000Z','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd','{"database.password":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"}','reset','{"database.password":"env:ORDERS_PASSWORD"}');
INSERT INTO "ownership" VALUES('local','payments','adopted','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-11-21T12:05:00.000000Z',NULL,'{}','keep','{}');
CREATE TABLE restart_requests (
	cluster VARCHAR NOT NULL, 
	connector VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	id VARCHAR NOT NULL, 
	PRIMARY KEY (cluster, connector, kind)
);
INSERT INTO "restart_requests" VALUES('local','orders','restart','INC-1');
CREATE TABLE restarts (
	cluster VARCHAR NOT NULL, 
	connector VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	last VARCHAR(27) NOT NULL, 
	PRIMARY KEY (cluster, connector)
);
INSERT INTO "restarts" VALUES('local','orders',2,'2026-11-21T12:05:00.000000Z');
CREATE TABLE reviewed_plans (
	pull_request INTEGER NOT NULL, 
	purpose VARCHAR NOT NULL, 
	digest VARCHAR NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	"plan" TEXT NOT NULL, 
	PRIMARY KEY (pull_request, purpose)
);
INSERT INTO "reviewed_plans" VALUES(7,'review','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd','2026-11-21T12:00:00.000000Z','{"clusters":{"local":{"orders":{"effects":[{"count":0,"digest":null,"distance":null,"far":"","kind":"delete","operation":null,"partitions":null},{"count":2,"digest":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","distance":7,"far":"7 records","kind":"rewind","operation":"skip","partitions":["{\"filename\":\"/0\"}","{\"filename\":\"/1\"}"]}],"steps":["eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"]}}},"digest":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","pull_request":7}');
CREATE TABLE revisions (
	cluster VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	revision VARCHAR NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	result TEXT NOT NULL, 
	PRIMARY KEY (cluster, kind)
);
INSERT INTO "revisions" VALUES('local','attempted','bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','2026-11-21T12:05:00.000000Z','1 of 3 steps failed');
INSERT INTO "revisions" VALUES('local','applied','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-11-21T12:00:00.000000Z','');
CREATE TABLE steps (
	id INTEGER NOT NULL, 
	cluster VARCHAR NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	revision VARCHAR NOT NULL, 
	author VARCHAR NOT NULL, 
	connector VARCHAR NOT NULL, 
	action VARCHAR NOT NULL, 
	operation VARCHAR NOT NULL, 
	result VARCHAR NOT NULL, 
	reason TEXT NOT NULL, 
	message TEXT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "steps" VALUES(1,'local','2026-11-21T12:05:00.000000Z','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','Ann','orders','alter','skip','applied','declared','',0.5);
INSERT INTO "steps" VALUES(2,'local','2026-11-21T12:05:00.000000Z','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','Ann','orders','configure','','failed','differs','400: no',1.25);
CREATE TABLE stopped_connectors (
	cluster VARCHAR NOT NULL, 
	connector VARCHAR NOT NULL, 
	returns_to VARCHAR NOT NULL, 
	PRIMARY KEY (cluster, connector)
);
INSERT INTO "stopped_connectors" VALUES('local','orders','running');
CREATE TABLE suspensions (
	cluster VARCHAR NOT NULL, 
	connector VARCHAR NOT NULL, 
	who VARCHAR NOT NULL, 
	since VARCHAR(27) NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (cluster, connector)
);
INSERT INTO "suspensions" VALUES('local','orders','ana@ops-1','2026-11-21T12:00:00.000000Z','INC-1');
INSERT INTO "suspensions" VALUES('local','','ana@ops-1','2026-11-21T12:00:00.000000Z','INC-1');
COMMIT;
