PRAGMA user_version = 6;
PRAGMA application_id = 1229747556;
CREATE TABLE runs (
	n             INTEGER PRIMARY KEY,
	id            TEXT    NOT NULL UNIQUE,
	version       INTEGER NOT NULL,
	state         TEXT    NOT NULL,
	pool          TEXT    NOT NULL,
	key           TEXT    NOT NULL,
	priority      INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,           -- times are microseconds
	queued_at     INTEGER,
	ready         INTEGER,                    -- 1: in the queue for a slot
	delayed_until INTEGER,                    -- held back from the queue until then
	slot          INTEGER,                    -- 1: holds a slot
	owner         TEXT,
	epoch         INTEGER NOT NULL,
	asked_at      INTEGER,
	deadline      INTEGER,
	finished_at   INTEGER,
	record        BLOB    NOT NULL,
	first         INTEGER NOT NULL,           -- number of the first event in tail
	tail          BLOB    NOT NULL,           -- the newest events, a line each
	spec          BLOB                        -- NULL when it stands in specs
, engine TEXT NOT NULL DEFAULT '');
CREATE TABLE specs (
	run  INTEGER PRIMARY KEY,
	spec BLOB NOT NULL
);
CREATE TABLE log (
	k      INTEGER PRIMARY KEY,
	first  INTEGER NOT NULL,                  -- number of the first event
	bodies BLOB    NOT NULL                   -- the events, a line each
);
CREATE TABLE settled (
	run    INTEGER NOT NULL,
	id     INTEGER NOT NULL,
	key    TEXT,
	record BLOB    NOT NULL,
	PRIMARY KEY (run, id)
) WITHOUT ROWID;
CREATE TABLE nodes (
	id       TEXT    PRIMARY KEY,
	identity TEXT    NOT NULL,
	lease    INTEGER NOT NULL,                -- nanoseconds
	until    INTEGER NOT NULL
, engines TEXT) WITHOUT ROWID;
CREATE TABLE pools (
	name         TEXT    PRIMARY KEY,
	capacity     INTEGER NOT NULL,
	key_capacity INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE store (
	identity TEXT NOT NULL
);
CREATE TABLE labels (
	label INTEGER NOT NULL,
	run   INTEGER NOT NULL,
	PRIMARY KEY (label, run)
) WITHOUT ROWID;
CREATE TABLE changes (
	n      INTEGER PRIMARY KEY,
	writer TEXT NOT NULL,                     -- the open store that made it
	hints  BLOB NOT NULL                      -- for each run its id, its state and the number of its last event
);
CREATE TABLE watchers (
	writer TEXT    PRIMARY KEY,               -- as in changes
	until  INTEGER NOT NULL                   -- microseconds; renewed long before, unless its process is dead
) WITHOUT ROWID;
CREATE TABLE departed (
	id TEXT    PRIMARY KEY,
	at INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	1,
	'reconciled',
	3,
	'failed',
	'default',
	'',
	0,
	1767603602000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1767603639000000,
	CAST('{"id":"reconciled","version":3,"contract":"1.1.0","spec_digest":"0803d58693cd26bbf0d86d5ff91d0190c06dfb25bac4c0e709c070cbc18a3d4f","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"reconciled","team":"blue"},"created_at":"2026-01-05T09:00:02Z","state":"failed","updated_at":"2026-01-05T09:00:39Z","queued_at":"2026-01-05T09:00:02Z","attempt":1,"epoch":1,"seq":3,"local_seq":2,"recovery_state":"failed_reconciled","recovered_at":"2026-01-05T09:00:39Z","recovery_reason":"worker gone","error":{"code":"ORCHESTRATOR_RESTART_INTERRUPTED","message":"the worker died during the turn, which may not be repeated"},"finished_at":"2026-01-05T09:00:39Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"reconciled","seq":1,"ts":"2026-01-05T09:00:02Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"reconciled","seq":2,"ts":"2026-01-05T09:00:02Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:02Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"reconciled","seq":3,"ts":"2026-01-05T09:00:39Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"error":{"code":"ORCHESTRATOR_RESTART_INTERRUPTED","message":"the worker died during the turn, which may not be repeated"},"status":"failed","warnings":[]},"to":"failed","trigger":"restart.reconcile_failed","updated_at":"2026-01-05T09:00:39Z"},"meta":{"attempt":1,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"reconciled","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	2,
	'repeated',
	6,
	'waiting_user',
	'default',
	'',
	0,
	1767603603000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'000000000000000000000first',
	2,
	1767603643000000,
	NULL,
	NULL,
	CAST('{"id":"repeated","version":6,"contract":"1.1.0","spec_digest":"8ded4119503ba014f1094d86f9ed951beff888280f83838e14c89a31a0624355","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"repeatable":true,"pool":"default","not_before":"2026-01-05T09:00:40Z","labels":{"run":"repeated","team":"blue"},"created_at":"2026-01-05T09:00:03Z","state":"waiting_user","updated_at":"2026-01-05T09:00:43Z","queued_at":"2026-01-05T09:00:39Z","attempt":2,"owner":"000000000000000000000first","epoch":2,"seq":8,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"cmVwZWF0ZWQ="},"interactions":1,"pending":{"interaction_id":1,"attempt":2,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:00:43Z"},"recovery_state":"none","warnings":["TURN_REPEATED"]}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"repeated","seq":1,"ts":"2026-01-05T09:00:03Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"repeated","seq":2,"ts":"2026-01-05T09:00:03Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:03Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"repeated","seq":3,"ts":"2026-01-05T09:00:39Z","engine":"default","type":"diagnostic.warning","data":{"code":"TURN_REPEATED","detail":"the worker died during the turn"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"repeated","seq":4,"ts":"2026-01-05T09:00:39Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","to":"queued","trigger":"restart.requeue","updated_at":"2026-01-05T09:00:39Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"repeated","seq":5,"ts":"2026-01-05T09:00:43Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:43Z"},"meta":{"attempt":2,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"repeated","seq":6,"ts":"2026-01-05T09:00:43Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":2,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"repeated","seq":7,"ts":"2026-01-05T09:00:43Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:00:43Z"},"meta":{"attempt":2,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"repeated","seq":8,"ts":"2026-01-05T09:00:43Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:00:43Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":2,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"repeatable":true,"pool":"default","labels":{"run":"repeated","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	3,
	'succeeded',
	7,
	'succeeded',
	'default',
	'',
	0,
	1767603644000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	2,
	NULL,
	NULL,
	1767603645000000,
	CAST('{"id":"succeeded","version":7,"contract":"1.1.0","spec_digest":"23e86a1837b61eb2cf563c2e73bf87f3030c11f479f9bb7fca2bae472cdd7d66","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"succeeded","team":"blue"},"created_at":"2026-01-05T09:00:44Z","state":"succeeded","updated_at":"2026-01-05T09:00:45Z","queued_at":"2026-01-05T09:00:45Z","attempt":2,"epoch":2,"seq":9,"local_seq":2,"profile":"resumable","session":{"engine":"func","data":"c3VjY2VlZGVk"},"interactions":1,"recovery_state":"none","output":{"colour":"red \u003cb\u003e","run":"succeeded"},"finished_at":"2026-01-05T09:00:45Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":1,"ts":"2026-01-05T09:00:44Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":2,"ts":"2026-01-05T09:00:44Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:44Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":3,"ts":"2026-01-05T09:00:44Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":4,"ts":"2026-01-05T09:00:44Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:00:44Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":5,"ts":"2026-01-05T09:00:44Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:00:44Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":6,"ts":"2026-01-05T09:00:45Z","engine":"default","type":"interaction.reply.accepted","data":{"accepted_at":"2026-01-05T09:00:45Z","actor":"ada","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":7,"ts":"2026-01-05T09:00:45Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2026-01-05T09:00:45Z"},"meta":{"attempt":1,"local_seq":6}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":8,"ts":"2026-01-05T09:00:45Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:45Z"},"meta":{"attempt":2,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":9,"ts":"2026-01-05T09:00:45Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"status":"succeeded","warnings":[]},"to":"succeeded","trigger":"turn.succeeded","updated_at":"2026-01-05T09:00:45Z"},"meta":{"attempt":2,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","output_schema":{"type":"object"},"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"succeeded","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	4,
	'auto',
	3,
	'succeeded',
	'default',
	'',
	0,
	1767603646000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1767603646000000,
	CAST('{"id":"auto","version":3,"contract":"1.1.0","spec_digest":"65d5a0bcc078d75262ec5bc9abc80e62c0c6bd2f8deba8547510414ea40be3dc","engine":"default","mode":"auto","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"by":"cron"},"created_at":"2026-01-05T09:00:46Z","state":"succeeded","updated_at":"2026-01-05T09:00:46Z","queued_at":"2026-01-05T09:00:46Z","attempt":1,"epoch":1,"seq":3,"local_seq":2,"profile":"resumable","session":{"engine":"func","data":"YXV0bw=="},"recovery_state":"none","output":{"run":"auto"},"finished_at":"2026-01-05T09:00:46Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"auto","seq":1,"ts":"2026-01-05T09:00:46Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"auto","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"auto","seq":2,"ts":"2026-01-05T09:00:46Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:46Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"auto","seq":3,"ts":"2026-01-05T09:00:46Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"status":"succeeded","warnings":[]},"to":"succeeded","trigger":"turn.succeeded","updated_at":"2026-01-05T09:00:46Z"},"meta":{"attempt":1,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"auto","engine":"default","output_schema":{"type":"object"},"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"by":"cron"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	5,
	'decided',
	7,
	'succeeded',
	'default',
	'',
	0,
	1767603647000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	2,
	NULL,
	NULL,
	1767603648000000,
	CAST('{"id":"decided","version":7,"contract":"1.1.0","spec_digest":"09428c8c3de6187bc4c8db922b209bc0ba9a4a62cc2d9b844ae149bb7c8d57f2","engine":"default","mode":"interactive","strict":false,"session_timeout":1000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"decided","team":"blue"},"created_at":"2026-01-05T09:00:47Z","state":"succeeded","updated_at":"2026-01-05T09:00:48Z","queued_at":"2026-01-05T09:00:48Z","attempt":2,"epoch":2,"seq":9,"local_seq":2,"profile":"resumable","session":{"engine":"func","data":"ZGVjaWRlZA=="},"interactions":1,"auto_decision_count":1,"last_auto_decision_at":"2026-01-05T09:00:48Z","recovery_state":"none","output":{"colour":"The user did not respond in time. Decide by your own best judgement and continue; say which decision you took.","run":"decided"},"finished_at":"2026-01-05T09:00:48Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"decided","seq":1,"ts":"2026-01-05T09:00:47Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":false,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":2,"ts":"2026-01-05T09:00:47Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:47Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":3,"ts":"2026-01-05T09:00:47Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":4,"ts":"2026-01-05T09:00:47Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:00:47Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":5,"ts":"2026-01-05T09:00:47Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:00:47Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"auto_decide","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","wait_deadline_at":"2026-01-05T09:00:48Z"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":6,"ts":"2026-01-05T09:00:48Z","engine":"default","type":"interaction.auto_decide.timeout","data":{"accepted_at":"2026-01-05T09:00:48Z","interaction_id":1,"policy":"engine_judgement","resolution_mode":"auto_decide_timeout","timeout_sec":1},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":7,"ts":"2026-01-05T09:00:48Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.auto_decide.timeout","updated_at":"2026-01-05T09:00:48Z"},"meta":{"attempt":1,"local_seq":6}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":8,"ts":"2026-01-05T09:00:48Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:48Z"},"meta":{"attempt":2,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":9,"ts":"2026-01-05T09:00:48Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"status":"succeeded","warnings":[]},"to":"succeeded","trigger":"turn.succeeded","updated_at":"2026-01-05T09:00:48Z"},"meta":{"attempt":2,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1000000000,"auto_decide":true,"max_auto_decisions":20,"pool":"default","labels":{"run":"decided","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	6,
	'failed',
	3,
	'failed',
	'default',
	'',
	0,
	1767603649000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1767603649000000,
	CAST('{"id":"failed","version":3,"contract":"1.1.0","spec_digest":"ce8c3bd7837e15d396aea3d62145f429b35db436d4b5d8cb5d9614999c9c2a86","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"failed","team":"blue"},"created_at":"2026-01-05T09:00:49Z","state":"failed","updated_at":"2026-01-05T09:00:49Z","queued_at":"2026-01-05T09:00:49Z","attempt":1,"epoch":1,"seq":3,"local_seq":2,"profile":"resumable","session":{"engine":"func","data":"ZmFpbGVk"},"recovery_state":"none","error":{"code":"ENGINE_FAILED","message":"exit status 3"},"finished_at":"2026-01-05T09:00:49Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"failed","seq":1,"ts":"2026-01-05T09:00:49Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"failed","seq":2,"ts":"2026-01-05T09:00:49Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:49Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"failed","seq":3,"ts":"2026-01-05T09:00:49Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"error":{"code":"ENGINE_FAILED","message":"exit status 3"},"status":"failed","warnings":[]},"to":"failed","trigger":"turn.failed","updated_at":"2026-01-05T09:00:49Z"},"meta":{"attempt":1,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"failed","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	7,
	'invalid',
	3,
	'failed',
	'default',
	'',
	0,
	1767603650000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1767603650000000,
	CAST('{"id":"invalid","version":3,"contract":"1.1.0","spec_digest":"dc54ca1a94a55b6553af7ab67bd6a0a84006e7ff596addb7961bf8bc73b92e4a","engine":"default","mode":"auto","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"invalid","team":"blue"},"created_at":"2026-01-05T09:00:50Z","state":"failed","updated_at":"2026-01-05T09:00:50Z","queued_at":"2026-01-05T09:00:50Z","attempt":1,"epoch":1,"seq":3,"local_seq":2,"profile":"resumable","session":{"engine":"func","data":"aW52YWxpZA=="},"recovery_state":"none","error":{"code":"OUTPUT_INVALID","message":"the output is not valid: schema: violated: /: missing properties: ''size''"},"finished_at":"2026-01-05T09:00:50Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"invalid","seq":1,"ts":"2026-01-05T09:00:50Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"auto","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"invalid","seq":2,"ts":"2026-01-05T09:00:50Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:50Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"invalid","seq":3,"ts":"2026-01-05T09:00:50Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"error":{"code":"OUTPUT_INVALID","message":"the output is not valid: schema: violated: /: missing properties: ''size''"},"status":"failed","warnings":[]},"to":"failed","trigger":"turn.failed","updated_at":"2026-01-05T09:00:50Z"},"meta":{"attempt":1,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"auto","engine":"default","output_schema":{"required":["size"]},"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"invalid","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	8,
	'exhausted',
	4,
	'failed',
	'default',
	'',
	0,
	1767603651000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1767603651000000,
	CAST('{"id":"exhausted","version":4,"contract":"1.1.0","spec_digest":"622138edadf4a5e629ad1fab9d98f23cfc11c7f274b7ed0b96e8a86dfc184883","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_attempts":1,"max_auto_decisions":20,"pool":"default","labels":{"run":"exhausted","team":"blue"},"created_at":"2026-01-05T09:00:51Z","state":"failed","updated_at":"2026-01-05T09:00:51Z","queued_at":"2026-01-05T09:00:51Z","attempt":1,"epoch":1,"seq":4,"local_seq":3,"profile":"resumable","session":{"engine":"func","data":"ZXhoYXVzdGVk"},"recovery_state":"none","error":{"code":"INTERACTIVE_MAX_ATTEMPT_EXCEEDED","message":"max_attempt is reached and the run is not complete"},"finished_at":"2026-01-05T09:00:51Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"exhausted","seq":1,"ts":"2026-01-05T09:00:51Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_attempt":1,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"exhausted","seq":2,"ts":"2026-01-05T09:00:51Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:51Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"exhausted","seq":3,"ts":"2026-01-05T09:00:51Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"exhausted","seq":4,"ts":"2026-01-05T09:00:51Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"error":{"code":"INTERACTIVE_MAX_ATTEMPT_EXCEEDED","message":"max_attempt is reached and the run is not complete"},"status":"failed","warnings":[]},"to":"failed","trigger":"turn.failed","updated_at":"2026-01-05T09:00:51Z"},"meta":{"attempt":1,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","max_attempts":1,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"exhausted","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	9,
	'timed-out',
	5,
	'failed',
	'default',
	'',
	0,
	1767603652000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1767603653000000,
	CAST('{"id":"timed-out","version":5,"contract":"1.1.0","spec_digest":"205c5263b41d6b5d8e38567da8556fdcde3a4bbf37e760295b9ee13496ee26f0","engine":"resident","mode":"interactive","strict":true,"session_timeout":1000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"timed-out","team":"blue"},"created_at":"2026-01-05T09:00:52Z","state":"failed","updated_at":"2026-01-05T09:00:53Z","queued_at":"2026-01-05T09:00:52Z","attempt":1,"epoch":1,"seq":6,"local_seq":5,"profile":"sticky_process","interactions":1,"recovery_state":"none","error":{"code":"INTERACTION_WAIT_TIMEOUT","message":"nobody replied within 1s"},"finished_at":"2026-01-05T09:00:53Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":1,"ts":"2026-01-05T09:00:52Z","engine":"resident","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":2,"ts":"2026-01-05T09:00:52Z","engine":"resident","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:52Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":3,"ts":"2026-01-05T09:00:52Z","engine":"resident","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":4,"ts":"2026-01-05T09:00:52Z","engine":"resident","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:00:52Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":5,"ts":"2026-01-05T09:00:52Z","engine":"resident","type":"user.input.required","data":{"asked_at":"2026-01-05T09:00:52Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"fail","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"sticky_process","prompt":"Which colour?","wait_deadline_at":"2026-01-05T09:00:53Z"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":6,"ts":"2026-01-05T09:00:53Z","engine":"resident","type":"conversation.state.changed","data":{"from":"waiting_user","terminal":{"error":{"code":"INTERACTION_WAIT_TIMEOUT","message":"nobody replied within 1s"},"status":"failed","warnings":[]},"to":"failed","trigger":"interaction.wait.timeout","updated_at":"2026-01-05T09:00:53Z"},"meta":{"attempt":1,"local_seq":5}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"resident","session_timeout":1000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"timed-out","team":"blue"}}' AS BLOB),
	'resident');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	10,
	'canceled',
	5,
	'canceled',
	'default',
	'',
	0,
	1767603654000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1767603654000000,
	CAST('{"id":"canceled","version":5,"contract":"1.1.0","spec_digest":"693ac30a7379bd00081b79db7ee07b47eb27ebb3a74fa41df392dce38b586176","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"canceled","team":"blue"},"created_at":"2026-01-05T09:00:54Z","state":"canceled","updated_at":"2026-01-05T09:00:54Z","queued_at":"2026-01-05T09:00:54Z","attempt":1,"epoch":1,"seq":6,"local_seq":5,"profile":"resumable","session":{"engine":"func","data":"Y2FuY2VsZWQ="},"interactions":1,"recovery_state":"none","error":{"code":"RUN_CANCELED","message":"no longer needed"},"cancel_reason":"no longer needed","finished_at":"2026-01-05T09:00:54Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":1,"ts":"2026-01-05T09:00:54Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":2,"ts":"2026-01-05T09:00:54Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:54Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":3,"ts":"2026-01-05T09:00:54Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":4,"ts":"2026-01-05T09:00:54Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:00:54Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":5,"ts":"2026-01-05T09:00:54Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:00:54Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":6,"ts":"2026-01-05T09:00:54Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","terminal":{"error":{"code":"RUN_CANCELED","message":"no longer needed"},"status":"canceled","warnings":[]},"to":"canceled","trigger":"run.canceled","updated_at":"2026-01-05T09:00:54Z"},"meta":{"attempt":1,"local_seq":5}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"canceled","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	11,
	'resident-ended',
	5,
	'failed',
	'default',
	'',
	0,
	1767603655000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1767603684000000,
	CAST('{"id":"resident-ended","version":5,"contract":"1.1.0","spec_digest":"c786fd3f0d5999c9ee89a6066f119ca2f4bb46316ef035e9d4666a1b9825720c","engine":"resident","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident-ended","team":"blue"},"created_at":"2026-01-05T09:00:55Z","state":"failed","updated_at":"2026-01-05T09:01:24Z","queued_at":"2026-01-05T09:00:55Z","attempt":1,"epoch":1,"seq":6,"local_seq":5,"profile":"sticky_process","interactions":1,"recovery_state":"none","error":{"code":"INTERACTION_PROCESS_LOST","message":"the host shut down while the run waited"},"finished_at":"2026-01-05T09:01:24Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"resident-ended","seq":1,"ts":"2026-01-05T09:00:55Z","engine":"resident","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident-ended","seq":2,"ts":"2026-01-05T09:00:55Z","engine":"resident","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:55Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident-ended","seq":3,"ts":"2026-01-05T09:00:55Z","engine":"resident","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"resident-ended","seq":4,"ts":"2026-01-05T09:00:55Z","engine":"resident","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:00:55Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"resident-ended","seq":5,"ts":"2026-01-05T09:00:55Z","engine":"resident","type":"user.input.required","data":{"asked_at":"2026-01-05T09:00:55Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"fail","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"sticky_process","prompt":"Which colour?","wait_deadline_at":"2026-01-05T09:20:55Z"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"resident-ended","seq":6,"ts":"2026-01-05T09:01:24Z","engine":"resident","type":"conversation.state.changed","data":{"from":"waiting_user","terminal":{"error":{"code":"INTERACTION_PROCESS_LOST","message":"the host shut down while the run waited"},"status":"failed","warnings":[]},"to":"failed","trigger":"interaction.process.lost","updated_at":"2026-01-05T09:01:24Z"},"meta":{"attempt":1,"local_seq":5}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"resident","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident-ended","team":"blue"}}' AS BLOB),
	'resident');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	12,
	'interrupted-for-good',
	3,
	'failed',
	'default',
	'',
	0,
	1767603656000000,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1767603684000000,
	CAST('{"id":"interrupted-for-good","version":3,"contract":"1.1.0","spec_digest":"2a4da1fc18802c175431ebeac4e022afc57bc59b0cb7812359977edced7a11d1","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"interrupted-for-good","team":"blue"},"created_at":"2026-01-05T09:00:56Z","state":"failed","updated_at":"2026-01-05T09:01:24Z","queued_at":"2026-01-05T09:00:56Z","attempt":1,"epoch":1,"seq":3,"local_seq":2,"recovery_state":"none","error":{"code":"ORCHESTRATOR_RESTART_INTERRUPTED","message":"the host shut down during the turn"},"finished_at":"2026-01-05T09:01:24Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"interrupted-for-good","seq":1,"ts":"2026-01-05T09:00:56Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"interrupted-for-good","seq":2,"ts":"2026-01-05T09:00:56Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:56Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"interrupted-for-good","seq":3,"ts":"2026-01-05T09:01:24Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"error":{"code":"ORCHESTRATOR_RESTART_INTERRUPTED","message":"the host shut down during the turn"},"status":"failed","warnings":[]},"to":"failed","trigger":"restart.reconcile_failed","updated_at":"2026-01-05T09:01:24Z"},"meta":{"attempt":1,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"interrupted-for-good","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	13,
	'choose-one',
	3,
	'waiting_user',
	'default',
	'',
	0,
	1767603657000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'000000000000000000000first',
	1,
	1767603657000000,
	NULL,
	NULL,
	CAST('{"id":"choose-one","version":3,"contract":"1.1.0","spec_digest":"5637130c77d79845c3a6a3c8c3b54567081107b6c6e5276059b5b39f4d93e057","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"choose-one","team":"blue"},"created_at":"2026-01-05T09:00:57Z","state":"waiting_user","updated_at":"2026-01-05T09:00:57Z","queued_at":"2026-01-05T09:00:57Z","attempt":1,"owner":"000000000000000000000first","epoch":1,"seq":4,"local_seq":3,"profile":"resumable","session":{"engine":"func","data":"Y2hvb3NlLW9uZQ=="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"default_decision_policy":"safe_default","asked_at":"2026-01-05T09:00:57Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"choose-one","seq":1,"ts":"2026-01-05T09:00:57Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"choose-one","seq":2,"ts":"2026-01-05T09:00:57Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:57Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"choose-one","seq":3,"ts":"2026-01-05T09:00:57Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:00:57Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"choose-one","seq":4,"ts":"2026-01-05T09:00:57Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:00:57Z","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"choose-one","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	14,
	'confirm',
	3,
	'waiting_user',
	'default',
	'',
	0,
	1767603658000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'000000000000000000000first',
	1,
	1767603658000000,
	NULL,
	NULL,
	CAST('{"id":"confirm","version":3,"contract":"1.1.0","spec_digest":"c96f624b1c83cc7769463e7ecff13729e53ce2795c329afe2fcdfe67650c3606","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"confirm","team":"blue"},"created_at":"2026-01-05T09:00:58Z","state":"waiting_user","updated_at":"2026-01-05T09:00:58Z","queued_at":"2026-01-05T09:00:58Z","attempt":1,"owner":"000000000000000000000first","epoch":1,"seq":4,"local_seq":3,"profile":"resumable","session":{"engine":"func","data":"Y29uZmlybQ=="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"confirm","prompt":"Which colour?","default_decision_policy":"abort","asked_at":"2026-01-05T09:00:58Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"confirm","seq":1,"ts":"2026-01-05T09:00:58Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"confirm","seq":2,"ts":"2026-01-05T09:00:58Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:58Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"confirm","seq":3,"ts":"2026-01-05T09:00:58Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:00:58Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"confirm","seq":4,"ts":"2026-01-05T09:00:58Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:00:58Z","default_decision_policy":"abort","interaction_id":1,"kind":"confirm","on_deadline":"keep_waiting","profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"confirm","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	15,
	'fill-fields',
	3,
	'waiting_user',
	'default',
	'',
	0,
	1767603659000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'000000000000000000000first',
	1,
	1767603659000000,
	NULL,
	NULL,
	CAST('{"id":"fill-fields","version":3,"contract":"1.1.0","spec_digest":"a2173f81053776fbc945dd018b291566d74616ad4b531d2988a564ea8cc71ba8","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"fill-fields","team":"blue"},"created_at":"2026-01-05T09:00:59Z","state":"waiting_user","updated_at":"2026-01-05T09:00:59Z","queued_at":"2026-01-05T09:00:59Z","attempt":1,"owner":"000000000000000000000first","epoch":1,"seq":4,"local_seq":3,"profile":"resumable","session":{"engine":"func","data":"ZmlsbC1maWVsZHM="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"fill_fields","prompt":"Which colour?","required_fields":["colour","size"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:00:59Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"fill-fields","seq":1,"ts":"2026-01-05T09:00:59Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"fill-fields","seq":2,"ts":"2026-01-05T09:00:59Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:00:59Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"fill-fields","seq":3,"ts":"2026-01-05T09:00:59Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:00:59Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"fill-fields","seq":4,"ts":"2026-01-05T09:00:59Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:00:59Z","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"fill_fields","on_deadline":"keep_waiting","profile":"resumable","prompt":"Which colour?","required_fields":["colour","size"],"ui_hints":{"size":3.5,"swatches":["a",true,null]}},"meta":{"attempt":1,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"fill-fields","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	16,
	'open-text',
	3,
	'waiting_user',
	'default',
	'',
	0,
	1767603660000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'000000000000000000000first',
	1,
	1767603660000000,
	NULL,
	NULL,
	CAST('{"id":"open-text","version":3,"contract":"1.1.0","spec_digest":"5950059dcb34bdc1af3d28c3201a75be7dd8e01062c92f45429f7c7410de8d56","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"open-text","team":"blue"},"created_at":"2026-01-05T09:01:00Z","state":"waiting_user","updated_at":"2026-01-05T09:01:00Z","queued_at":"2026-01-05T09:01:00Z","attempt":1,"owner":"000000000000000000000first","epoch":1,"seq":4,"local_seq":3,"profile":"resumable","session":{"engine":"func","data":"b3Blbi10ZXh0"},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"open_text","prompt":"Which colour?","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:00Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"open-text","seq":1,"ts":"2026-01-05T09:01:00Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"open-text","seq":2,"ts":"2026-01-05T09:01:00Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:00Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"open-text","seq":3,"ts":"2026-01-05T09:01:00Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:00Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"open-text","seq":4,"ts":"2026-01-05T09:01:00Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:00Z","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"open_text","on_deadline":"keep_waiting","profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"open-text","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	17,
	'risk-ack',
	3,
	'waiting_user',
	'default',
	'',
	0,
	1767603661000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'000000000000000000000first',
	1,
	1767603661000000,
	NULL,
	NULL,
	CAST('{"id":"risk-ack","version":3,"contract":"1.1.0","spec_digest":"73e048d96501d1d5ca47634880261903a274c973b93cd22d540cd701a3423698","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"risk-ack","team":"blue"},"created_at":"2026-01-05T09:01:01Z","state":"waiting_user","updated_at":"2026-01-05T09:01:01Z","queued_at":"2026-01-05T09:01:01Z","attempt":1,"owner":"000000000000000000000first","epoch":1,"seq":4,"local_seq":3,"profile":"resumable","session":{"engine":"func","data":"cmlzay1hY2s="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"risk_ack","prompt":"Which colour?","context":"It cannot be painted over. ‮\u003c\u0026\u003e\u2028","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:01Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"risk-ack","seq":1,"ts":"2026-01-05T09:01:01Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"risk-ack","seq":2,"ts":"2026-01-05T09:01:01Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:01Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"risk-ack","seq":3,"ts":"2026-01-05T09:01:01Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:01Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"risk-ack","seq":4,"ts":"2026-01-05T09:01:01Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:01Z","context":"It cannot be painted over. ‮<&>\u2028","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"risk_ack","on_deadline":"keep_waiting","profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"risk-ack","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	18,
	'no-question',
	3,
	'waiting_user',
	'default',
	'',
	0,
	1767603662000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'000000000000000000000first',
	1,
	1767603662000000,
	NULL,
	NULL,
	CAST('{"id":"no-question","version":3,"contract":"1.1.0","spec_digest":"b4dc843ea545169905df2fa12403cd5c7e23b644639adcd2b94abe2a6a9d0cd6","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"no-question","team":"blue"},"created_at":"2026-01-05T09:01:02Z","state":"waiting_user","updated_at":"2026-01-05T09:01:02Z","queued_at":"2026-01-05T09:01:02Z","attempt":1,"owner":"000000000000000000000first","epoch":1,"seq":5,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"bm8tcXVlc3Rpb24="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"open_text","prompt":"I could paint it.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:02Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"no-question","seq":1,"ts":"2026-01-05T09:01:02Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"no-question","seq":2,"ts":"2026-01-05T09:01:02Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:02Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"no-question","seq":3,"ts":"2026-01-05T09:01:02Z","engine":"default","type":"assistant.message.final","data":{"text":"I could paint it."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"no-question","seq":4,"ts":"2026-01-05T09:01:02Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:02Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"no-question","seq":5,"ts":"2026-01-05T09:01:02Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:02Z","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"open_text","on_deadline":"keep_waiting","profile":"resumable","prompt":"I could paint it."},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"no-question","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	19,
	'with-state',
	3,
	'waiting_user',
	'default',
	'',
	0,
	1767603663000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'000000000000000000000first',
	1,
	1767603663000000,
	NULL,
	NULL,
	CAST('{"id":"with-state","version":3,"contract":"1.1.0","spec_digest":"ef7b7f22a1ad28dc2446c2d31db08844d5f18f0abcdb4085249ee83f278f404a","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"with-state","team":"blue"},"created_at":"2026-01-05T09:01:03Z","state":"waiting_user","updated_at":"2026-01-05T09:01:03Z","queued_at":"2026-01-05T09:01:03Z","attempt":1,"owner":"000000000000000000000first","epoch":1,"seq":4,"local_seq":3,"profile":"resumable","session":{"engine":"func","version":"state","data":"eyJjb2F0cyI6Mn0="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:03Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"with-state","seq":1,"ts":"2026-01-05T09:01:03Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"with-state","seq":2,"ts":"2026-01-05T09:01:03Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:03Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"with-state","seq":3,"ts":"2026-01-05T09:01:03Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:03Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"with-state","seq":4,"ts":"2026-01-05T09:01:03Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:03Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"with-state","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	20,
	'recovered',
	8,
	'waiting_user',
	'default',
	'',
	0,
	1767603664000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'00000000000000000000second',
	2,
	1767603706000000,
	NULL,
	NULL,
	CAST('{"id":"recovered","version":8,"contract":"1.1.0","spec_digest":"c26bcb4fbe05483f59d617cf1dc47724191b915af2d1a23de94d54ea634de1bc","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"recovered","team":"blue"},"created_at":"2026-01-05T09:01:04Z","state":"waiting_user","updated_at":"2026-01-05T09:01:46Z","queued_at":"2026-01-05T09:01:46Z","attempt":2,"owner":"00000000000000000000second","epoch":2,"seq":11,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"cmVjb3ZlcmVk"},"interactions":2,"pending":{"interaction_id":2,"attempt":2,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:46Z"},"recovery_state":"recovered_waiting","recovered_at":"2026-01-05T09:01:24Z","recovery_reason":"pending question and session are intact"}' AS BLOB),
	10,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":10,"ts":"2026-01-05T09:01:46Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":2,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:46Z"},"meta":{"attempt":2,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":11,"ts":"2026-01-05T09:01:46Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:46Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":2,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":2,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"recovered","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	21,
	'elsewhere',
	3,
	'queued',
	'default',
	'',
	0,
	1767603665000000,
	1767603684000000,
	1,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"elsewhere","version":3,"contract":"1.1.0","spec_digest":"d521412c1a7ca82a2577342971fbb914ea1e0e84fe03b7d54d392d0df36111ed","engine":"elsewhere","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"repeatable":true,"pool":"default","labels":{"run":"elsewhere","team":"blue"},"created_at":"2026-01-05T09:01:05Z","state":"queued","updated_at":"2026-01-05T09:01:24Z","queued_at":"2026-01-05T09:01:24Z","attempt":1,"epoch":1,"seq":4,"local_seq":3,"recovery_state":"none","warnings":["TURN_REPEATED"]}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"elsewhere","seq":1,"ts":"2026-01-05T09:01:05Z","engine":"elsewhere","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"elsewhere","seq":2,"ts":"2026-01-05T09:01:05Z","engine":"elsewhere","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:05Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"elsewhere","seq":3,"ts":"2026-01-05T09:01:24Z","engine":"elsewhere","type":"diagnostic.warning","data":{"code":"TURN_REPEATED","detail":"the host shut down during the turn"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"elsewhere","seq":4,"ts":"2026-01-05T09:01:24Z","engine":"elsewhere","type":"conversation.state.changed","data":{"from":"running","to":"queued","trigger":"restart.requeue","updated_at":"2026-01-05T09:01:24Z"},"meta":{"attempt":1,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"elsewhere","session_timeout":1200000000000,"max_auto_decisions":20,"repeatable":true,"pool":"default","labels":{"run":"elsewhere","team":"blue"}}' AS BLOB),
	'elsewhere');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	22,
	'put-off',
	3,
	'queued',
	'default',
	'',
	0,
	1767603666000000,
	1767603666000000,
	NULL,
	1767607266000000,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	NULL,
	CAST('[2,{"id":"put-off","version":3,"contract":"1.1.0","spec_digest":"61c16f434be99b0ca107abd55d63d290b5cc8b273628c2d14f4489a64abf7391","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","not_before":"2026-01-05T10:01:06Z","labels":{"team":"red"},"created_at":"2026-01-05T09:01:06Z","state":"queued","updated_at":"2026-01-05T09:01:06Z","queued_at":"2026-01-05T09:01:06Z","attempt":1,"repeats":1,"yielded":1,"block":{"kind":"retry","until":"2026-01-05T10:01:06Z","code":"ENGINE_FAILED","reason":"429: come back later"},"epoch":1,"seq":4,"local_seq":3,"profile":"resumable","recovery_state":"none"}]' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"put-off","seq":1,"ts":"2026-01-05T09:01:06Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"put-off","seq":2,"ts":"2026-01-05T09:01:06Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:06Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.1","run_id":"put-off","seq":3,"ts":"2026-01-05T09:01:06Z","engine":"default","type":"turn.yielded","data":{"code":"ENGINE_FAILED","message":"429: come back later","not_before":"2026-01-05T10:01:06Z","retry":1},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.1","run_id":"put-off","seq":4,"ts":"2026-01-05T09:01:06Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","to":"queued","trigger":"turn.yielded","updated_at":"2026-01-05T09:01:06Z"},"meta":{"attempt":1,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"retry":{"max":3},"pool":"default","labels":{"team":"red"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	23,
	'put-off-answered',
	7,
	'queued',
	'default',
	'',
	0,
	1767603667000000,
	1767603668000000,
	NULL,
	1767607268000000,
	NULL,
	NULL,
	2,
	NULL,
	NULL,
	NULL,
	CAST('[2,{"id":"put-off-answered","version":7,"contract":"1.1.0","spec_digest":"165b5f8af6ff9cd9b41fe2a768cc062b358f4ade74bc81c9d3be3ca19e3d5d56","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","not_before":"2026-01-05T10:01:08Z","labels":{"run":"put-off-answered","team":"blue"},"created_at":"2026-01-05T09:01:07Z","state":"queued","updated_at":"2026-01-05T09:01:08Z","queued_at":"2026-01-05T09:01:08Z","attempt":2,"repeats":1,"yielded":1,"block":{"kind":"retry","until":"2026-01-05T10:01:08Z","code":"ENGINE_FAILED","reason":"429: come back later"},"epoch":2,"seq":10,"local_seq":3,"profile":"resumable","session":{"engine":"func","data":"cHV0LW9mZi1hbnN3ZXJlZA=="},"interactions":1,"answer":{"interaction_id":1,"resolution_mode":"user_reply","text":"white","actor":"ada","accepted_at":"2026-01-05T09:01:08Z"},"recovery_state":"none"}]' AS BLOB),
	9,
	CAST('{"protocol_version":"fcmp/1.1","run_id":"put-off-answered","seq":9,"ts":"2026-01-05T09:01:08Z","engine":"default","type":"turn.yielded","data":{"code":"ENGINE_FAILED","message":"429: come back later","not_before":"2026-01-05T10:01:08Z","retry":1},"meta":{"attempt":2,"local_seq":2}}
{"protocol_version":"fcmp/1.1","run_id":"put-off-answered","seq":10,"ts":"2026-01-05T09:01:08Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","to":"queued","trigger":"turn.yielded","updated_at":"2026-01-05T09:01:08Z"},"meta":{"attempt":2,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"retry":{"max":3,"backoff":3600000000000},"pool":"default","labels":{"run":"put-off-answered","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	24,
	'put-off-before',
	6,
	'waiting_user',
	'default',
	'',
	0,
	1767603669000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'000000000000000000000first',
	2,
	1767603671000000,
	NULL,
	NULL,
	CAST('[2,{"id":"put-off-before","version":6,"contract":"1.1.0","spec_digest":"dabd25d34538b5aea24b00eb25108fc574dbaf00ae5c6fe41d0b86debc7075a3","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","not_before":"2026-01-05T09:01:10Z","labels":{"run":"put-off-before","team":"blue"},"created_at":"2026-01-05T09:01:09Z","state":"waiting_user","updated_at":"2026-01-05T09:01:11Z","queued_at":"2026-01-05T09:01:09Z","attempt":2,"yielded":1,"owner":"000000000000000000000first","epoch":2,"seq":8,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"cHV0LW9mZi1iZWZvcmU="},"interactions":1,"pending":{"interaction_id":1,"attempt":2,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:11Z"},"recovery_state":"none"}]' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"put-off-before","seq":1,"ts":"2026-01-05T09:01:09Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-before","seq":2,"ts":"2026-01-05T09:01:09Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:09Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.1","run_id":"put-off-before","seq":3,"ts":"2026-01-05T09:01:09Z","engine":"default","type":"turn.yielded","data":{"code":"ENGINE_FAILED","message":"429: come back later","not_before":"2026-01-05T09:01:10Z","retry":1},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.1","run_id":"put-off-before","seq":4,"ts":"2026-01-05T09:01:09Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","to":"queued","trigger":"turn.yielded","updated_at":"2026-01-05T09:01:09Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-before","seq":5,"ts":"2026-01-05T09:01:11Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:11Z"},"meta":{"attempt":2,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-before","seq":6,"ts":"2026-01-05T09:01:11Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":2,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-before","seq":7,"ts":"2026-01-05T09:01:11Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:11Z"},"meta":{"attempt":2,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-before","seq":8,"ts":"2026-01-05T09:01:11Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:11Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":2,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"retry":{"max":3},"pool":"default","labels":{"run":"put-off-before","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	25,
	'waiting',
	4,
	'waiting_user',
	'p',
	'ada',
	0,
	1767603711000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'00000000000000000000second',
	1,
	1767603711000000,
	NULL,
	NULL,
	CAST('{"id":"waiting","version":4,"contract":"1.1.0","spec_digest":"0fa1700dd57c810d53c4724817f2baca7accbc8aac640286bfc6db388c213a68","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"ada","labels":{"run":"waiting","team":"blue"},"created_at":"2026-01-05T09:01:51Z","state":"waiting_user","updated_at":"2026-01-05T09:01:51Z","queued_at":"2026-01-05T09:01:51Z","attempt":1,"owner":"00000000000000000000second","epoch":1,"seq":5,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"d2FpdGluZw=="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:51Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"waiting","seq":1,"ts":"2026-01-05T09:01:51Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"waiting","seq":2,"ts":"2026-01-05T09:01:51Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:51Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"waiting","seq":3,"ts":"2026-01-05T09:01:51Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"waiting","seq":4,"ts":"2026-01-05T09:01:51Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:51Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"waiting","seq":5,"ts":"2026-01-05T09:01:51Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:51Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"ada","labels":{"run":"waiting","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	26,
	'asked-twice',
	8,
	'waiting_user',
	'p',
	'ada',
	7,
	1767603712000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'00000000000000000000second',
	2,
	1767603713000000,
	NULL,
	NULL,
	CAST('{"id":"asked-twice","version":8,"contract":"1.1.0","spec_digest":"b925bc418ba696f19924a4add2ff20eb22661d8adcf443f36ae82bb8cb00e935","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_attempts":5,"max_auto_decisions":20,"pool":"p","key":"ada","priority":7,"labels":{"run":"asked-twice","team":"blue"},"created_at":"2026-01-05T09:01:52Z","state":"waiting_user","updated_at":"2026-01-05T09:01:53Z","queued_at":"2026-01-05T09:01:53Z","attempt":2,"owner":"00000000000000000000second","epoch":2,"seq":11,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"YXNrZWQtdHdpY2U="},"interactions":2,"pending":{"interaction_id":2,"attempt":2,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:53Z"},"recovery_state":"none"}' AS BLOB),
	10,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":10,"ts":"2026-01-05T09:01:53Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":2,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:53Z"},"meta":{"attempt":2,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":11,"ts":"2026-01-05T09:01:53Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:53Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":2,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":2,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","max_attempts":5,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"ada","priority":7,"labels":{"run":"asked-twice","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	27,
	'long',
	4,
	'waiting_user',
	'default',
	'',
	0,
	1767603714000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'00000000000000000000second',
	1,
	1767603714000000,
	NULL,
	NULL,
	CAST('{"id":"long","version":4,"contract":"1.1.0","spec_digest":"190b5993b3be7b8b04f6742a4ad24b5a86032ff374b5f53f191d35d75b50f5b9","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"long","team":"blue"},"created_at":"2026-01-05T09:01:54Z","state":"waiting_user","updated_at":"2026-01-05T09:01:54Z","queued_at":"2026-01-05T09:01:54Z","attempt":1,"owner":"00000000000000000000second","epoch":1,"seq":5,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"bG9uZw=="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:54Z"},"recovery_state":"none"}' AS BLOB),
	4,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"long","seq":4,"ts":"2026-01-05T09:01:54Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:54Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"long","seq":5,"ts":"2026-01-05T09:01:54Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:54Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"long","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	28,
	'due-later',
	4,
	'waiting_user',
	'default',
	'',
	0,
	1767603715000000,
	NULL,
	NULL,
	NULL,
	NULL,
	'00000000000000000000second',
	1,
	1767603715000000,
	1767607315000000,
	NULL,
	CAST('{"id":"due-later","version":4,"contract":"1.1.0","spec_digest":"37171b39d15b9c8434e8d185315ea09c10c245811122bd4be43d0f7959bc65dd","engine":"default","mode":"interactive","strict":false,"session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"due-later","team":"blue"},"created_at":"2026-01-05T09:01:55Z","state":"waiting_user","updated_at":"2026-01-05T09:01:55Z","queued_at":"2026-01-05T09:01:55Z","attempt":1,"owner":"00000000000000000000second","epoch":1,"seq":5,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"ZHVlLWxhdGVy"},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:55Z"},"wait_deadline_at":"2026-01-05T10:01:55Z","recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"due-later","seq":1,"ts":"2026-01-05T09:01:55Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":false,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":3600},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"due-later","seq":2,"ts":"2026-01-05T09:01:55Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:55Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"due-later","seq":3,"ts":"2026-01-05T09:01:55Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"due-later","seq":4,"ts":"2026-01-05T09:01:55Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:55Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"due-later","seq":5,"ts":"2026-01-05T09:01:55Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:55Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"auto_decide","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","wait_deadline_at":"2026-01-05T10:01:55Z"},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":3600000000000,"auto_decide":true,"max_auto_decisions":20,"pool":"default","labels":{"run":"due-later","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	29,
	'resident',
	4,
	'waiting_user',
	'default',
	'',
	0,
	1767603716000000,
	NULL,
	NULL,
	NULL,
	1,
	'00000000000000000000second',
	1,
	1767603716000000,
	1767607316000000,
	NULL,
	CAST('{"id":"resident","version":4,"contract":"1.1.0","spec_digest":"1ae0aa7a72b66d58677ece3cc052468095b69b873882b62b1e629714eed19882","engine":"resident","mode":"interactive","strict":true,"session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident","team":"blue"},"created_at":"2026-01-05T09:01:56Z","state":"waiting_user","updated_at":"2026-01-05T09:01:56Z","queued_at":"2026-01-05T09:01:56Z","attempt":1,"slot":true,"owner":"00000000000000000000second","epoch":1,"seq":5,"local_seq":4,"profile":"sticky_process","interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:56Z"},"wait_deadline_at":"2026-01-05T10:01:56Z","recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"resident","seq":1,"ts":"2026-01-05T09:01:56Z","engine":"resident","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":3600},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident","seq":2,"ts":"2026-01-05T09:01:56Z","engine":"resident","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:56Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident","seq":3,"ts":"2026-01-05T09:01:56Z","engine":"resident","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"resident","seq":4,"ts":"2026-01-05T09:01:56Z","engine":"resident","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:56Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"resident","seq":5,"ts":"2026-01-05T09:01:56Z","engine":"resident","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:56Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"fail","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"sticky_process","prompt":"Which colour?","wait_deadline_at":"2026-01-05T10:01:56Z"},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"resident","session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident","team":"blue"}}' AS BLOB),
	'resident');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	30,
	'resident-deciding',
	4,
	'waiting_user',
	'default',
	'',
	0,
	1767603717000000,
	NULL,
	NULL,
	NULL,
	1,
	'00000000000000000000second',
	1,
	1767603717000000,
	1767607317000000,
	NULL,
	CAST('{"id":"resident-deciding","version":4,"contract":"1.1.0","spec_digest":"c5b80ff3214bd773f52a07aee4e2e5e016b87164a9058fa5cc8854deebb63163","engine":"resident","mode":"interactive","strict":false,"session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident-deciding","team":"blue"},"created_at":"2026-01-05T09:01:57Z","state":"waiting_user","updated_at":"2026-01-05T09:01:57Z","queued_at":"2026-01-05T09:01:57Z","attempt":1,"slot":true,"owner":"00000000000000000000second","epoch":1,"seq":5,"local_seq":4,"profile":"sticky_process","interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:57Z"},"wait_deadline_at":"2026-01-05T10:01:57Z","recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"resident-deciding","seq":1,"ts":"2026-01-05T09:01:57Z","engine":"resident","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":false,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":3600},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident-deciding","seq":2,"ts":"2026-01-05T09:01:57Z","engine":"resident","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:57Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident-deciding","seq":3,"ts":"2026-01-05T09:01:57Z","engine":"resident","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"resident-deciding","seq":4,"ts":"2026-01-05T09:01:57Z","engine":"resident","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:57Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"resident-deciding","seq":5,"ts":"2026-01-05T09:01:57Z","engine":"resident","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:57Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"auto_decide","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"sticky_process","prompt":"Which colour?","wait_deadline_at":"2026-01-05T10:01:57Z"},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"resident","session_timeout":3600000000000,"auto_decide":true,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident-deciding","team":"blue"}}' AS BLOB),
	'resident');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	31,
	'resident-answered',
	5,
	'queued',
	'default',
	'',
	0,
	1767603718000000,
	1767603757000000,
	NULL,
	NULL,
	1,
	'00000000000000000000second',
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"resident-answered","version":5,"contract":"1.1.0","spec_digest":"a59e19019572bdf9cba8f35b30cac4efd2cc67f7db16796d1405226c0f81f4ee","engine":"resident","mode":"interactive","strict":true,"session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident-answered","team":"blue"},"created_at":"2026-01-05T09:01:58Z","state":"queued","updated_at":"2026-01-05T09:02:37Z","queued_at":"2026-01-05T09:02:37Z","attempt":1,"slot":true,"owner":"00000000000000000000second","epoch":1,"seq":7,"local_seq":6,"profile":"sticky_process","interactions":1,"answer":{"interaction_id":1,"resolution_mode":"user_reply","text":"yellow","actor":"ada","accepted_at":"2026-01-05T09:02:37Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":1,"ts":"2026-01-05T09:01:58Z","engine":"resident","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":3600},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":2,"ts":"2026-01-05T09:01:58Z","engine":"resident","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:58Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":3,"ts":"2026-01-05T09:01:58Z","engine":"resident","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":4,"ts":"2026-01-05T09:01:58Z","engine":"resident","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:58Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":5,"ts":"2026-01-05T09:01:58Z","engine":"resident","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:58Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"fail","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"sticky_process","prompt":"Which colour?","wait_deadline_at":"2026-01-05T10:01:58Z"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":6,"ts":"2026-01-05T09:02:37Z","engine":"resident","type":"interaction.reply.accepted","data":{"accepted_at":"2026-01-05T09:02:37Z","actor":"ada","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":7,"ts":"2026-01-05T09:02:37Z","engine":"resident","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2026-01-05T09:02:37Z"},"meta":{"attempt":1,"local_seq":6}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"resident","session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident-answered","team":"blue"}}' AS BLOB),
	'resident');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	32,
	'resident-running',
	2,
	'running',
	'default',
	'',
	0,
	1767603719000000,
	NULL,
	NULL,
	NULL,
	1,
	'00000000000000000000second',
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"resident-running","version":2,"contract":"1.1.0","spec_digest":"ca4c2521a2fec660d482d90a9441c971ec675c6ab90c7f7404c4d2e92f74b16b","engine":"resident","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident-running","team":"blue"},"created_at":"2026-01-05T09:01:59Z","state":"running","updated_at":"2026-01-05T09:01:59Z","queued_at":"2026-01-05T09:01:59Z","attempt":1,"slot":true,"owner":"00000000000000000000second","epoch":1,"seq":2,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"resident-running","seq":1,"ts":"2026-01-05T09:01:59Z","engine":"resident","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident-running","seq":2,"ts":"2026-01-05T09:01:59Z","engine":"resident","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:59Z"},"meta":{"attempt":1,"local_seq":1}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"resident","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident-running","team":"blue"}}' AS BLOB),
	'resident');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	33,
	'answered',
	5,
	'queued',
	'p',
	'',
	0,
	1767603720000000,
	1767603760000000,
	1,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"answered","version":5,"contract":"1.1.0","spec_digest":"1957e4d4bc2b846bdff135e2da637a24a245316c082f24271b5edc306355d38a","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","labels":{"run":"answered","team":"blue"},"created_at":"2026-01-05T09:02:00Z","state":"queued","updated_at":"2026-01-05T09:02:40Z","queued_at":"2026-01-05T09:02:40Z","attempt":1,"epoch":1,"seq":7,"local_seq":6,"profile":"resumable","session":{"engine":"func","data":"YW5zd2VyZWQ="},"interactions":1,"answer":{"interaction_id":1,"resolution_mode":"user_reply","text":"yellow","actor":"ada","accepted_at":"2026-01-05T09:02:40Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"answered","seq":1,"ts":"2026-01-05T09:02:00Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":2,"ts":"2026-01-05T09:02:00Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:02:00Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":3,"ts":"2026-01-05T09:02:00Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":4,"ts":"2026-01-05T09:02:00Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:02:00Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":5,"ts":"2026-01-05T09:02:00Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:02:00Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":6,"ts":"2026-01-05T09:02:40Z","engine":"default","type":"interaction.reply.accepted","data":{"accepted_at":"2026-01-05T09:02:40Z","actor":"ada","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":7,"ts":"2026-01-05T09:02:40Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2026-01-05T09:02:40Z"},"meta":{"attempt":1,"local_seq":6}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","labels":{"run":"answered","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	34,
	'interrupted',
	2,
	'running',
	'p',
	'bob',
	0,
	1767603721000000,
	NULL,
	NULL,
	NULL,
	1,
	'00000000000000000000second',
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"interrupted","version":2,"contract":"1.1.0","spec_digest":"78c4a8d787d2d8bf946f74f7c9303275f8069af2b080c50ecff02724f1cf6a3a","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"repeatable":true,"pool":"p","key":"bob","labels":{"run":"interrupted","team":"blue"},"created_at":"2026-01-05T09:02:01Z","state":"running","updated_at":"2026-01-05T09:02:01Z","queued_at":"2026-01-05T09:02:01Z","attempt":1,"slot":true,"owner":"00000000000000000000second","epoch":1,"seq":2,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"interrupted","seq":1,"ts":"2026-01-05T09:02:01Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"interrupted","seq":2,"ts":"2026-01-05T09:02:01Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:02:01Z"},"meta":{"attempt":1,"local_seq":1}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"repeatable":true,"pool":"p","key":"bob","labels":{"run":"interrupted","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	35,
	'lost',
	2,
	'running',
	'default',
	'',
	0,
	1767603722000000,
	NULL,
	NULL,
	NULL,
	1,
	'00000000000000000000second',
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"lost","version":2,"contract":"1.1.0","spec_digest":"31994dd9980f47e9543541b74920ec55dbea585a2c79278808122cd507e745a3","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"lost","team":"blue"},"created_at":"2026-01-05T09:02:02Z","state":"running","updated_at":"2026-01-05T09:02:02Z","queued_at":"2026-01-05T09:02:02Z","attempt":1,"slot":true,"owner":"00000000000000000000second","epoch":1,"seq":2,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"lost","seq":1,"ts":"2026-01-05T09:02:02Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"lost","seq":2,"ts":"2026-01-05T09:02:02Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:02:02Z"},"meta":{"attempt":1,"local_seq":1}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"lost","team":"blue"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	36,
	'queued',
	1,
	'queued',
	'p',
	'ada',
	-3,
	1767603763000000,
	1767603763000000,
	1,
	NULL,
	NULL,
	NULL,
	0,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"queued","version":1,"contract":"1.1.0","spec_digest":"9d747734355a0db9dec7bf01bc6f3de723282e0e4cbef9d6fe67b8004ca53e2e","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"ada","priority":-3,"labels":{"team":"red","we\"ird":"$[0]"},"created_at":"2026-01-05T09:02:43Z","state":"queued","updated_at":"2026-01-05T09:02:43Z","queued_at":"2026-01-05T09:02:43Z","attempt":0,"seq":1,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"queued","seq":1,"ts":"2026-01-05T09:02:43Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"ada","priority":-3,"labels":{"team":"red","we\"ird":"$[0]"}}' AS BLOB),
	'default');
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec, engine) VALUES (
	37,
	'delayed',
	1,
	'queued',
	'default',
	'',
	0,
	1767603764000000,
	1767603764000000,
	NULL,
	1767609000000000,
	NULL,
	NULL,
	0,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"delayed","version":1,"contract":"1.1.0","spec_digest":"acc531f9a7342ede4d953642fc3b8052c4d075171fc58f1a1253c229db28a4e9","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","not_before":"2026-01-05T10:30:00Z","labels":{"team":"red"},"created_at":"2026-01-05T09:02:44Z","state":"queued","updated_at":"2026-01-05T09:02:44Z","queued_at":"2026-01-05T09:02:44Z","attempt":0,"seq":1,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"delayed","seq":1,"ts":"2026-01-05T09:02:44Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}' AS BLOB),
	NULL,
	'default');
INSERT INTO specs (run, spec) VALUES (
	37,
	CAST('{"prompt":"Paint. yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","not_before":"2026-01-05T10:30:00Z","labels":{"team":"red"}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	5368709129,
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":1,"ts":"2026-01-05T09:01:04Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":2,"ts":"2026-01-05T09:01:04Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:04Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":3,"ts":"2026-01-05T09:01:04Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":4,"ts":"2026-01-05T09:01:04Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:04Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":5,"ts":"2026-01-05T09:01:04Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:04Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":6,"ts":"2026-01-05T09:01:46Z","engine":"default","type":"interaction.reply.accepted","data":{"accepted_at":"2026-01-05T09:01:46Z","actor":"ada","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":7,"ts":"2026-01-05T09:01:46Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2026-01-05T09:01:46Z"},"meta":{"attempt":1,"local_seq":6}}
{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":8,"ts":"2026-01-05T09:01:46Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:46Z"},"meta":{"attempt":2,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"recovered","seq":9,"ts":"2026-01-05T09:01:46Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":2,"local_seq":2}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	6174015496,
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"put-off-answered","seq":1,"ts":"2026-01-05T09:01:07Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-answered","seq":2,"ts":"2026-01-05T09:01:07Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:07Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-answered","seq":3,"ts":"2026-01-05T09:01:07Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-answered","seq":4,"ts":"2026-01-05T09:01:07Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:07Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-answered","seq":5,"ts":"2026-01-05T09:01:07Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:07Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-answered","seq":6,"ts":"2026-01-05T09:01:08Z","engine":"default","type":"interaction.reply.accepted","data":{"accepted_at":"2026-01-05T09:01:08Z","actor":"ada","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-answered","seq":7,"ts":"2026-01-05T09:01:08Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2026-01-05T09:01:08Z"},"meta":{"attempt":1,"local_seq":6}}
{"protocol_version":"fcmp/1.0","run_id":"put-off-answered","seq":8,"ts":"2026-01-05T09:01:08Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:08Z"},"meta":{"attempt":2,"local_seq":1}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	6979321865,
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":1,"ts":"2026-01-05T09:01:52Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_attempt":5,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":2,"ts":"2026-01-05T09:01:52Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:52Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":3,"ts":"2026-01-05T09:01:52Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":4,"ts":"2026-01-05T09:01:52Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-01-05T09:01:52Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":5,"ts":"2026-01-05T09:01:52Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-01-05T09:01:52Z","context":"The wall is grey.","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":6,"ts":"2026-01-05T09:01:53Z","engine":"default","type":"interaction.reply.accepted","data":{"accepted_at":"2026-01-05T09:01:53Z","actor":"ada","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":7,"ts":"2026-01-05T09:01:53Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2026-01-05T09:01:53Z"},"meta":{"attempt":1,"local_seq":6}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":8,"ts":"2026-01-05T09:01:53Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:53Z"},"meta":{"attempt":2,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":9,"ts":"2026-01-05T09:01:53Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":2,"local_seq":2}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	7247757314,
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"long","seq":1,"ts":"2026-01-05T09:01:54Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.1.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"long","seq":2,"ts":"2026-01-05T09:01:54Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-01-05T09:01:54Z"},"meta":{"attempt":1,"local_seq":1}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	7247757315,
	3,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"long","seq":3,"ts":"2026-01-05T09:01:54Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long "},"meta":{"attempt":1,"local_seq":2}}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	3,
	1,
	'key-1',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:00:44Z"},"resolution_mode":"user_reply","response":"red \u003cb\u003e","actor":"ada","resolved_at":"2026-01-05T09:00:45Z","key":"key-1","digest":"6d4bc64b1ead2107d5a012186be762b6b8bcceef859e15bdbc10283171e30b84"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	5,
	1,
	NULL,
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:00:47Z"},"resolution_mode":"auto_decide_timeout","response":"The user did not respond in time. Decide by your own best judgement and continue; say which decision you took.","resolved_at":"2026-01-05T09:00:48Z","auto_decide_reason":"user_no_reply"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	9,
	1,
	NULL,
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:00:52Z"},"resolution_mode":"abandoned","resolved_at":"2026-01-05T09:00:53Z"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	10,
	1,
	NULL,
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:00:54Z"},"resolution_mode":"abandoned","resolved_at":"2026-01-05T09:00:54Z"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	11,
	1,
	NULL,
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:00:55Z"},"resolution_mode":"abandoned","resolved_at":"2026-01-05T09:01:24Z"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	20,
	1,
	'key-1',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:04Z"},"resolution_mode":"user_reply","response":"green","actor":"ada","resolved_at":"2026-01-05T09:01:46Z","key":"key-1","digest":"d9840480be1a0f17f9750e8a64261e991629b68fa02dc1308fca5d1614d8b7fb"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	23,
	1,
	'key-1',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:07Z"},"resolution_mode":"user_reply","response":"white","actor":"ada","resolved_at":"2026-01-05T09:01:08Z","key":"key-1","digest":"7793753fbd45c5de72ed0a0556abea265182095c694f8af6f448ae4d22ba7fa8"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	26,
	1,
	'key-1',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:52Z"},"resolution_mode":"user_reply","response":"green","actor":"ada","resolved_at":"2026-01-05T09:01:53Z","key":"key-1","digest":"d9840480be1a0f17f9750e8a64261e991629b68fa02dc1308fca5d1614d8b7fb"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	31,
	1,
	'key-1',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:01:58Z"},"resolution_mode":"user_reply","response":"yellow","actor":"ada","resolved_at":"2026-01-05T09:02:37Z","key":"key-1","digest":"ad50a895ec041ab12ec98ef36885a0420ec4431969083fed75579d0ac7ff3264"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	33,
	1,
	'key-1',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"context":"The wall is grey.","default_decision_policy":"engine_judgement","asked_at":"2026-01-05T09:02:00Z"},"resolution_mode":"user_reply","response":"yellow","actor":"ada","resolved_at":"2026-01-05T09:02:40Z","key":"key-1","digest":"ad50a895ec041ab12ec98ef36885a0420ec4431969083fed75579d0ac7ff3264"}' AS BLOB));
INSERT INTO nodes (id, identity, lease, until, engines) VALUES (
	'00000000000000000000second',
	'another machine',
	3600000000000,
	1767603764000000,
	'["default","resident"]');
INSERT INTO pools (name, capacity, key_capacity) VALUES (
	'default',
	16,
	0);
INSERT INTO pools (name, capacity, key_capacity) VALUES (
	'p',
	8,
	4);
INSERT INTO store (identity) VALUES (
	'00000000-0000-4000-8000-000000000000');
INSERT INTO labels (label, run) VALUES (
	-8845203928655494569,
	31);
INSERT INTO labels (label, run) VALUES (
	-8613105077816742547,
	27);
INSERT INTO labels (label, run) VALUES (
	-8169996222081498615,
	21);
INSERT INTO labels (label, run) VALUES (
	-5596630280290241467,
	26);
INSERT INTO labels (label, run) VALUES (
	-5111665131976106195,
	7);
INSERT INTO labels (label, run) VALUES (
	-5082709690662010235,
	14);
INSERT INTO labels (label, run) VALUES (
	-5027614729439326194,
	35);
INSERT INTO labels (label, run) VALUES (
	-4292104529539452739,
	30);
INSERT INTO labels (label, run) VALUES (
	-3815298479716976022,
	29);
INSERT INTO labels (label, run) VALUES (
	-3166950133124272657,
	17);
INSERT INTO labels (label, run) VALUES (
	-2524621277130827045,
	10);
INSERT INTO labels (label, run) VALUES (
	-2164044439724239663,
	4);
INSERT INTO labels (label, run) VALUES (
	-2125961464532923562,
	33);
INSERT INTO labels (label, run) VALUES (
	-2092906741668376159,
	11);
INSERT INTO labels (label, run) VALUES (
	-696115674721737492,
	2);
INSERT INTO labels (label, run) VALUES (
	-522495674359288227,
	15);
INSERT INTO labels (label, run) VALUES (
	-461705173821331621,
	9);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	1);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	2);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	3);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	5);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	6);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	7);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	8);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	9);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	10);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	11);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	12);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	13);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	14);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	15);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	16);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	17);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	18);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	19);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	20);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	21);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	23);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	24);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	25);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	26);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	27);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	28);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	29);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	30);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	31);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	32);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	33);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	34);
INSERT INTO labels (label, run) VALUES (
	-422370540093779359,
	35);
INSERT INTO labels (label, run) VALUES (
	362350452027849604,
	18);
INSERT INTO labels (label, run) VALUES (
	515193913135650932,
	3);
INSERT INTO labels (label, run) VALUES (
	1257466989927886690,
	23);
INSERT INTO labels (label, run) VALUES (
	1734145797583448042,
	25);
INSERT INTO labels (label, run) VALUES (
	2195254180348020006,
	13);
INSERT INTO labels (label, run) VALUES (
	2937728472672835560,
	1);
INSERT INTO labels (label, run) VALUES (
	3534256223478128134,
	16);
INSERT INTO labels (label, run) VALUES (
	3998249310893171578,
	12);
INSERT INTO labels (label, run) VALUES (
	4071244048939016276,
	34);
INSERT INTO labels (label, run) VALUES (
	4513613936224147588,
	5);
INSERT INTO labels (label, run) VALUES (
	5082570756335667592,
	24);
INSERT INTO labels (label, run) VALUES (
	5613093268610705592,
	19);
INSERT INTO labels (label, run) VALUES (
	6262063440145588847,
	28);
INSERT INTO labels (label, run) VALUES (
	7296680756149153907,
	20);
INSERT INTO labels (label, run) VALUES (
	7699971677298456543,
	32);
INSERT INTO labels (label, run) VALUES (
	8055888785104822569,
	36);
INSERT INTO labels (label, run) VALUES (
	8345855998067600667,
	6);
INSERT INTO labels (label, run) VALUES (
	8730252226912961816,
	22);
INSERT INTO labels (label, run) VALUES (
	8730252226912961816,
	36);
INSERT INTO labels (label, run) VALUES (
	8730252226912961816,
	37);
INSERT INTO labels (label, run) VALUES (
	8825251920791018744,
	8);
INSERT INTO departed (id, at) VALUES (
	'000000000000000000000first',
	1767603684000000);
CREATE INDEX runs_created  ON runs (created_at, id);
CREATE INDEX runs_held     ON runs (pool, key, owner) WHERE slot = 1;
CREATE INDEX runs_sticky   ON runs (owner, queued_at, id) WHERE slot = 1 AND state = 'queued';
CREATE INDEX runs_parked   ON runs (owner) WHERE owner IS NOT NULL AND slot IS NULL;
CREATE INDEX runs_waiting  ON runs (asked_at, id) WHERE asked_at IS NOT NULL;
CREATE INDEX runs_deadline ON runs (deadline, id) WHERE deadline IS NOT NULL;
CREATE INDEX runs_finished ON runs (finished_at, id) WHERE finished_at IS NOT NULL;
CREATE UNIQUE INDEX settled_key ON settled (run, key) WHERE key IS NOT NULL;
CREATE INDEX runs_ready   ON runs (pool, engine, priority DESC, key, queued_at, id) WHERE ready = 1;
CREATE INDEX runs_delayed ON runs (delayed_until, engine) WHERE delayed_until IS NOT NULL;
