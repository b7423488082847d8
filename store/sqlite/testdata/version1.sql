PRAGMA user_version = 1;
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
);
CREATE INDEX runs_created  ON runs (created_at, id);
CREATE INDEX runs_ready    ON runs (pool, priority DESC, key, queued_at, id) WHERE ready = 1;
CREATE INDEX runs_delayed  ON runs (delayed_until) WHERE delayed_until IS NOT NULL;
CREATE INDEX runs_held     ON runs (pool, key, owner) WHERE slot = 1;
CREATE INDEX runs_sticky   ON runs (owner, queued_at, id) WHERE slot = 1 AND state = 'queued';
CREATE INDEX runs_parked   ON runs (owner) WHERE owner IS NOT NULL AND slot IS NULL;
CREATE INDEX runs_waiting  ON runs (asked_at, id) WHERE asked_at IS NOT NULL;
CREATE INDEX runs_deadline ON runs (deadline, id) WHERE deadline IS NOT NULL;
CREATE INDEX runs_finished ON runs (finished_at, id) WHERE finished_at IS NOT NULL;
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
CREATE UNIQUE INDEX settled_key ON settled (run, key) WHERE key IS NOT NULL;
CREATE TABLE nodes (
	id       TEXT    PRIMARY KEY,
	identity TEXT    NOT NULL,
	lease    INTEGER NOT NULL,                -- nanoseconds
	until    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE pools (
	name         TEXT    PRIMARY KEY,
	capacity     INTEGER NOT NULL,
	key_capacity INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	1,
	'succeeded',
	7,
	'succeeded',
	'default',
	'',
	0,
	1795342468038714,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	2,
	NULL,
	NULL,
	1795342468173445,
	CAST('{"id":"succeeded","version":7,"contract":"1.0.0","spec_digest":"23e86a1837b61eb2cf563c2e73bf87f3030c11f479f9bb7fca2bae472cdd7d66","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"succeeded","team":"blue"},"created_at":"2026-11-22T10:14:28.038714Z","state":"succeeded","updated_at":"2026-11-22T10:14:28.173445Z","queued_at":"2026-11-22T10:14:28.15174Z","attempt":2,"epoch":2,"seq":9,"local_seq":2,"profile":"resumable","session":{"engine":"func","data":"c3VjY2VlZGVk"},"interactions":1,"recovery_state":"none","output":{"colour":"red \u003cb\u003e","run":"succeeded"},"finished_at":"2026-11-22T10:14:28.173445Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":1,"ts":"2026-11-22T10:14:28.038714Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":2,"ts":"2026-11-22T10:14:28.089831Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.089831Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":3,"ts":"2026-11-22T10:14:28.094404Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":4,"ts":"2026-11-22T10:14:28.099984Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.099984Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":5,"ts":"2026-11-22T10:14:28.099984Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.099984Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]}},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":6,"ts":"2026-11-22T10:14:28.15174Z","engine":"default","type":"interaction.reply.accepted","data":{"accepted_at":"2026-11-22T10:14:28.15174Z","actor":"ada","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":7,"ts":"2026-11-22T10:14:28.15174Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2026-11-22T10:14:28.15174Z"},"meta":{"attempt":1,"local_seq":6}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":8,"ts":"2026-11-22T10:14:28.154377Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.154377Z"},"meta":{"attempt":2,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"succeeded","seq":9,"ts":"2026-11-22T10:14:28.173445Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"status":"succeeded","warnings":[]},"to":"succeeded","trigger":"turn.succeeded","updated_at":"2026-11-22T10:14:28.173445Z"},"meta":{"attempt":2,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","output_schema":{"type":"object"},"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"succeeded","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	2,
	'failed',
	3,
	'failed',
	'default',
	'',
	0,
	1795342468070343,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1795342468094452,
	CAST('{"id":"failed","version":3,"contract":"1.0.0","spec_digest":"ce8c3bd7837e15d396aea3d62145f429b35db436d4b5d8cb5d9614999c9c2a86","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"failed","team":"blue"},"created_at":"2026-11-22T10:14:28.070343Z","state":"failed","updated_at":"2026-11-22T10:14:28.094452Z","queued_at":"2026-11-22T10:14:28.070343Z","attempt":1,"epoch":1,"seq":3,"local_seq":2,"profile":"resumable","session":{"engine":"func","data":"ZmFpbGVk"},"recovery_state":"none","error":{"code":"ENGINE_FAILED","message":"exit status 3"},"finished_at":"2026-11-22T10:14:28.094452Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"failed","seq":1,"ts":"2026-11-22T10:14:28.070343Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"failed","seq":2,"ts":"2026-11-22T10:14:28.089831Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.089831Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"failed","seq":3,"ts":"2026-11-22T10:14:28.094452Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"error":{"code":"ENGINE_FAILED","message":"exit status 3"},"status":"failed","warnings":[]},"to":"failed","trigger":"turn.failed","updated_at":"2026-11-22T10:14:28.094452Z"},"meta":{"attempt":1,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"failed","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	3,
	'decided',
	7,
	'succeeded',
	'default',
	'',
	0,
	1795342468070797,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	2,
	NULL,
	NULL,
	1795342469104896,
	CAST('{"id":"decided","version":7,"contract":"1.0.0","spec_digest":"09428c8c3de6187bc4c8db922b209bc0ba9a4a62cc2d9b844ae149bb7c8d57f2","engine":"default","mode":"interactive","strict":false,"session_timeout":1000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"decided","team":"blue"},"created_at":"2026-11-22T10:14:28.070797Z","state":"succeeded","updated_at":"2026-11-22T10:14:29.104896Z","queued_at":"2026-11-22T10:14:29.100931Z","attempt":2,"epoch":2,"seq":9,"local_seq":2,"profile":"resumable","session":{"engine":"func","data":"ZGVjaWRlZA=="},"interactions":1,"auto_decision_count":1,"last_auto_decision_at":"2026-11-22T10:14:29.100931Z","recovery_state":"none","output":{"colour":"The user did not respond in time. Take the safest option, the one that changes least and can be undone, and continue; say which decision you took.","run":"decided"},"finished_at":"2026-11-22T10:14:29.104896Z"}' AS BLOB),
	9,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"decided","seq":9,"ts":"2026-11-22T10:14:29.104896Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"status":"succeeded","warnings":[]},"to":"succeeded","trigger":"turn.succeeded","updated_at":"2026-11-22T10:14:29.104896Z"},"meta":{"attempt":2,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1000000000,"auto_decide":true,"max_auto_decisions":20,"pool":"default","labels":{"run":"decided","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	4,
	'timed-out',
	5,
	'failed',
	'default',
	'',
	0,
	1795342468085556,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1795342469100931,
	CAST('{"id":"timed-out","version":5,"contract":"1.0.0","spec_digest":"205c5263b41d6b5d8e38567da8556fdcde3a4bbf37e760295b9ee13496ee26f0","engine":"resident","mode":"interactive","strict":true,"session_timeout":1000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"timed-out","team":"blue"},"created_at":"2026-11-22T10:14:28.085556Z","state":"failed","updated_at":"2026-11-22T10:14:29.100931Z","queued_at":"2026-11-22T10:14:28.085556Z","attempt":1,"epoch":1,"seq":6,"local_seq":5,"profile":"sticky_process","interactions":1,"recovery_state":"none","error":{"code":"INTERACTION_WAIT_TIMEOUT","message":"nobody replied within 1s"},"finished_at":"2026-11-22T10:14:29.100931Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":1,"ts":"2026-11-22T10:14:28.085556Z","engine":"resident","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":2,"ts":"2026-11-22T10:14:28.089831Z","engine":"resident","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.089831Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":3,"ts":"2026-11-22T10:14:28.094337Z","engine":"resident","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":4,"ts":"2026-11-22T10:14:28.09985Z","engine":"resident","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.09985Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":5,"ts":"2026-11-22T10:14:28.09985Z","engine":"resident","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.09985Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"fail","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"sticky_process","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"wait_deadline_at":"2026-11-22T10:14:29.09985Z"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"timed-out","seq":6,"ts":"2026-11-22T10:14:29.100931Z","engine":"resident","type":"conversation.state.changed","data":{"from":"waiting_user","terminal":{"error":{"code":"INTERACTION_WAIT_TIMEOUT","message":"nobody replied within 1s"},"status":"failed","warnings":[]},"to":"failed","trigger":"interaction.wait.timeout","updated_at":"2026-11-22T10:14:29.100931Z"},"meta":{"attempt":1,"local_seq":5}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"resident","session_timeout":1000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"timed-out","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	5,
	'canceled',
	5,
	'canceled',
	'default',
	'',
	0,
	1795342468091348,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1795342468174895,
	CAST('{"id":"canceled","version":5,"contract":"1.0.0","spec_digest":"693ac30a7379bd00081b79db7ee07b47eb27ebb3a74fa41df392dce38b586176","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"canceled","team":"blue"},"created_at":"2026-11-22T10:14:28.091348Z","state":"canceled","updated_at":"2026-11-22T10:14:28.174895Z","queued_at":"2026-11-22T10:14:28.091348Z","attempt":1,"epoch":1,"seq":6,"local_seq":5,"profile":"resumable","session":{"engine":"func","data":"Y2FuY2VsZWQ="},"interactions":1,"recovery_state":"none","error":{"code":"RUN_CANCELED","message":"no longer needed"},"cancel_reason":"no longer needed","finished_at":"2026-11-22T10:14:28.174895Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":1,"ts":"2026-11-22T10:14:28.091348Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":2,"ts":"2026-11-22T10:14:28.094278Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.094278Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":3,"ts":"2026-11-22T10:14:28.100034Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":4,"ts":"2026-11-22T10:14:28.105785Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.105785Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":5,"ts":"2026-11-22T10:14:28.105785Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.105785Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]}},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":6,"ts":"2026-11-22T10:14:28.174895Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","terminal":{"error":{"code":"RUN_CANCELED","message":"no longer needed"},"status":"canceled","warnings":[]},"to":"canceled","trigger":"run.canceled","updated_at":"2026-11-22T10:14:28.174895Z"},"meta":{"attempt":1,"local_seq":5}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"canceled","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	6,
	'waiting',
	4,
	'waiting_user',
	'p',
	'ada',
	0,
	1795342468097900,
	NULL,
	NULL,
	NULL,
	NULL,
	'06h05g03s1mn5p11y5a9defgfr',
	1,
	1795342468106850,
	NULL,
	NULL,
	CAST('{"id":"waiting","version":4,"contract":"1.0.0","spec_digest":"0fa1700dd57c810d53c4724817f2baca7accbc8aac640286bfc6db388c213a68","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"ada","labels":{"run":"waiting","team":"blue"},"created_at":"2026-11-22T10:14:28.0979Z","state":"waiting_user","updated_at":"2026-11-22T10:14:28.10685Z","queued_at":"2026-11-22T10:14:28.0979Z","attempt":1,"owner":"06h05g03s1mn5p11y5a9defgfr","epoch":1,"seq":5,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"d2FpdGluZw=="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.10685Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"waiting","seq":1,"ts":"2026-11-22T10:14:28.0979Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"waiting","seq":2,"ts":"2026-11-22T10:14:28.10002Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.10002Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"waiting","seq":3,"ts":"2026-11-22T10:14:28.105714Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"waiting","seq":4,"ts":"2026-11-22T10:14:28.10685Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.10685Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"waiting","seq":5,"ts":"2026-11-22T10:14:28.10685Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.10685Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]}},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"ada","labels":{"run":"waiting","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	7,
	'asked-twice',
	8,
	'waiting_user',
	'p',
	'ada',
	7,
	1795342468101028,
	NULL,
	NULL,
	NULL,
	NULL,
	'06h05g03s1mn5p11y5a9defgfr',
	2,
	1795342468176208,
	NULL,
	NULL,
	CAST('{"id":"asked-twice","version":8,"contract":"1.0.0","spec_digest":"b925bc418ba696f19924a4add2ff20eb22661d8adcf443f36ae82bb8cb00e935","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_attempts":5,"max_auto_decisions":20,"pool":"p","key":"ada","priority":7,"labels":{"run":"asked-twice","team":"blue"},"created_at":"2026-11-22T10:14:28.101028Z","state":"waiting_user","updated_at":"2026-11-22T10:14:28.176208Z","queued_at":"2026-11-22T10:14:28.154861Z","attempt":2,"owner":"06h05g03s1mn5p11y5a9defgfr","epoch":2,"seq":11,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"YXNrZWQtdHdpY2U="},"interactions":2,"pending":{"interaction_id":2,"attempt":2,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.176208Z"},"recovery_state":"none"}' AS BLOB),
	10,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":10,"ts":"2026-11-22T10:14:28.176208Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":2,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.176208Z"},"meta":{"attempt":2,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":11,"ts":"2026-11-22T10:14:28.176208Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.176208Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":2,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]}},"meta":{"attempt":2,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","max_attempts":5,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"ada","priority":7,"labels":{"run":"asked-twice","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	8,
	'long',
	4,
	'waiting_user',
	'default',
	'',
	0,
	1795342468106229,
	NULL,
	NULL,
	NULL,
	NULL,
	'06h05g03s1mn5p11y5a9defgfr',
	1,
	1795342468115530,
	NULL,
	NULL,
	CAST('{"id":"long","version":4,"contract":"1.0.0","spec_digest":"190b5993b3be7b8b04f6742a4ad24b5a86032ff374b5f53f191d35d75b50f5b9","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"long","team":"blue"},"created_at":"2026-11-22T10:14:28.106229Z","state":"waiting_user","updated_at":"2026-11-22T10:14:28.11553Z","queued_at":"2026-11-22T10:14:28.106229Z","attempt":1,"owner":"06h05g03s1mn5p11y5a9defgfr","epoch":1,"seq":5,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"bG9uZw=="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.11553Z"},"recovery_state":"none"}' AS BLOB),
	4,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"long","seq":4,"ts":"2026-11-22T10:14:28.11553Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.11553Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"long","seq":5,"ts":"2026-11-22T10:14:28.11553Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.11553Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]}},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"long","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	9,
	'due-later',
	4,
	'waiting_user',
	'default',
	'',
	0,
	1795342468107238,
	NULL,
	NULL,
	NULL,
	NULL,
	'06h05g03s1mn5p11y5a9defgfr',
	1,
	1795342468118478,
	1795346068118478,
	NULL,
	CAST('{"id":"due-later","version":4,"contract":"1.0.0","spec_digest":"37171b39d15b9c8434e8d185315ea09c10c245811122bd4be43d0f7959bc65dd","engine":"default","mode":"interactive","strict":false,"session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"due-later","team":"blue"},"created_at":"2026-11-22T10:14:28.107238Z","state":"waiting_user","updated_at":"2026-11-22T10:14:28.118478Z","queued_at":"2026-11-22T10:14:28.107238Z","attempt":1,"owner":"06h05g03s1mn5p11y5a9defgfr","epoch":1,"seq":5,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"ZHVlLWxhdGVy"},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.118478Z"},"wait_deadline_at":"2026-11-22T11:14:28.118478Z","recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"due-later","seq":1,"ts":"2026-11-22T10:14:28.107238Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":false,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":3600},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"due-later","seq":2,"ts":"2026-11-22T10:14:28.109467Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.109467Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"due-later","seq":3,"ts":"2026-11-22T10:14:28.115465Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"due-later","seq":4,"ts":"2026-11-22T10:14:28.118478Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.118478Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"due-later","seq":5,"ts":"2026-11-22T10:14:28.118478Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.118478Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"auto_decide","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"wait_deadline_at":"2026-11-22T11:14:28.118478Z"},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":3600000000000,"auto_decide":true,"max_auto_decisions":20,"pool":"default","labels":{"run":"due-later","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	10,
	'resident',
	4,
	'waiting_user',
	'default',
	'',
	0,
	1795342468112190,
	NULL,
	NULL,
	NULL,
	1,
	'06h05g03s1mn5p11y5a9defgfr',
	1,
	1795342468119429,
	1795346068119429,
	NULL,
	CAST('{"id":"resident","version":4,"contract":"1.0.0","spec_digest":"1ae0aa7a72b66d58677ece3cc052468095b69b873882b62b1e629714eed19882","engine":"resident","mode":"interactive","strict":true,"session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident","team":"blue"},"created_at":"2026-11-22T10:14:28.11219Z","state":"waiting_user","updated_at":"2026-11-22T10:14:28.119429Z","queued_at":"2026-11-22T10:14:28.11219Z","attempt":1,"slot":true,"owner":"06h05g03s1mn5p11y5a9defgfr","epoch":1,"seq":5,"local_seq":4,"profile":"sticky_process","interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.119429Z"},"wait_deadline_at":"2026-11-22T11:14:28.119429Z","recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"resident","seq":1,"ts":"2026-11-22T10:14:28.11219Z","engine":"resident","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":3600},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident","seq":2,"ts":"2026-11-22T10:14:28.115437Z","engine":"resident","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.115437Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident","seq":3,"ts":"2026-11-22T10:14:28.118422Z","engine":"resident","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"resident","seq":4,"ts":"2026-11-22T10:14:28.119429Z","engine":"resident","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.119429Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"resident","seq":5,"ts":"2026-11-22T10:14:28.119429Z","engine":"resident","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.119429Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"fail","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"sticky_process","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"wait_deadline_at":"2026-11-22T11:14:28.119429Z"},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"resident","session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	11,
	'resident-answered',
	5,
	'queued',
	'default',
	'',
	0,
	1795342468115952,
	1795342469456508,
	NULL,
	NULL,
	1,
	'06h05g03s1mn5p11y5a9defgfr',
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"resident-answered","version":5,"contract":"1.0.0","spec_digest":"a59e19019572bdf9cba8f35b30cac4efd2cc67f7db16796d1405226c0f81f4ee","engine":"resident","mode":"interactive","strict":true,"session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident-answered","team":"blue"},"created_at":"2026-11-22T10:14:28.115952Z","state":"queued","updated_at":"2026-11-22T10:14:29.456508Z","queued_at":"2026-11-22T10:14:29.456508Z","attempt":1,"slot":true,"owner":"06h05g03s1mn5p11y5a9defgfr","epoch":1,"seq":7,"local_seq":6,"profile":"sticky_process","interactions":1,"answer":{"interaction_id":1,"resolution_mode":"user_reply","text":"yellow","actor":"ada","accepted_at":"2026-11-22T10:14:29.456508Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":1,"ts":"2026-11-22T10:14:28.115952Z","engine":"resident","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":3600},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":2,"ts":"2026-11-22T10:14:28.118405Z","engine":"resident","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.118405Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":3,"ts":"2026-11-22T10:14:28.119388Z","engine":"resident","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":4,"ts":"2026-11-22T10:14:28.121625Z","engine":"resident","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.121625Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":5,"ts":"2026-11-22T10:14:28.121625Z","engine":"resident","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.121625Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"fail","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"sticky_process","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"wait_deadline_at":"2026-11-22T11:14:28.121625Z"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":6,"ts":"2026-11-22T10:14:29.456508Z","engine":"resident","type":"interaction.reply.accepted","data":{"accepted_at":"2026-11-22T10:14:29.456508Z","actor":"ada","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"resident-answered","seq":7,"ts":"2026-11-22T10:14:29.456508Z","engine":"resident","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2026-11-22T10:14:29.456508Z"},"meta":{"attempt":1,"local_seq":6}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"resident","session_timeout":3600000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"resident-answered","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	12,
	'answered',
	5,
	'queued',
	'p',
	'',
	0,
	1795342468118973,
	1795342469445203,
	1,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"answered","version":5,"contract":"1.0.0","spec_digest":"1957e4d4bc2b846bdff135e2da637a24a245316c082f24271b5edc306355d38a","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","labels":{"run":"answered","team":"blue"},"created_at":"2026-11-22T10:14:28.118973Z","state":"queued","updated_at":"2026-11-22T10:14:29.445203Z","queued_at":"2026-11-22T10:14:29.445203Z","attempt":1,"epoch":1,"seq":7,"local_seq":6,"profile":"resumable","session":{"engine":"func","data":"YW5zd2VyZWQ="},"interactions":1,"answer":{"interaction_id":1,"resolution_mode":"user_reply","text":"yellow","actor":"ada","accepted_at":"2026-11-22T10:14:29.445203Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"answered","seq":1,"ts":"2026-11-22T10:14:28.118973Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":2,"ts":"2026-11-22T10:14:28.119365Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.119365Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":3,"ts":"2026-11-22T10:14:28.121571Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":4,"ts":"2026-11-22T10:14:28.126575Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.126575Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":5,"ts":"2026-11-22T10:14:28.126575Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.126575Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]}},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":6,"ts":"2026-11-22T10:14:29.445203Z","engine":"default","type":"interaction.reply.accepted","data":{"accepted_at":"2026-11-22T10:14:29.445203Z","actor":"ada","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":7,"ts":"2026-11-22T10:14:29.445203Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2026-11-22T10:14:29.445203Z"},"meta":{"attempt":1,"local_seq":6}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","labels":{"run":"answered","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	13,
	'interrupted',
	2,
	'running',
	'p',
	'bob',
	0,
	1795342468119815,
	NULL,
	NULL,
	NULL,
	1,
	'06h05g03s1mn5p11y5a9defgfr',
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"interrupted","version":2,"contract":"1.0.0","spec_digest":"78c4a8d787d2d8bf946f74f7c9303275f8069af2b080c50ecff02724f1cf6a3a","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"repeatable":true,"pool":"p","key":"bob","labels":{"run":"interrupted","team":"blue"},"created_at":"2026-11-22T10:14:28.119815Z","state":"running","updated_at":"2026-11-22T10:14:28.121553Z","queued_at":"2026-11-22T10:14:28.119815Z","attempt":1,"slot":true,"owner":"06h05g03s1mn5p11y5a9defgfr","epoch":1,"seq":2,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"interrupted","seq":1,"ts":"2026-11-22T10:14:28.119815Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"interrupted","seq":2,"ts":"2026-11-22T10:14:28.121553Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.121553Z"},"meta":{"attempt":1,"local_seq":1}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"repeatable":true,"pool":"p","key":"bob","labels":{"run":"interrupted","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	14,
	'lost',
	2,
	'running',
	'default',
	'',
	0,
	1795342468121935,
	NULL,
	NULL,
	NULL,
	1,
	'06h05g03s1mn5p11y5a9defgfr',
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"lost","version":2,"contract":"1.0.0","spec_digest":"31994dd9980f47e9543541b74920ec55dbea585a2c79278808122cd507e745a3","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"lost","team":"blue"},"created_at":"2026-11-22T10:14:28.121935Z","state":"running","updated_at":"2026-11-22T10:14:28.1265Z","queued_at":"2026-11-22T10:14:28.121935Z","attempt":1,"slot":true,"owner":"06h05g03s1mn5p11y5a9defgfr","epoch":1,"seq":2,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"lost","seq":1,"ts":"2026-11-22T10:14:28.121935Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"lost","seq":2,"ts":"2026-11-22T10:14:28.1265Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.1265Z"},"meta":{"attempt":1,"local_seq":1}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","labels":{"run":"lost","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	15,
	'queued',
	1,
	'queued',
	'p',
	'ada',
	0,
	1795342469467928,
	1795342469467928,
	1,
	NULL,
	NULL,
	NULL,
	0,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"queued","version":1,"contract":"1.0.0","spec_digest":"85a133cc64e935f2bd622c5d448f8fe53b6989756040c70895c3faa1b3658447","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"ada","labels":{"team":"red","we\"ird":"$[0]"},"created_at":"2026-11-22T10:14:29.467928Z","state":"queued","updated_at":"2026-11-22T10:14:29.467928Z","queued_at":"2026-11-22T10:14:29.467928Z","attempt":0,"seq":1,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"queued","seq":1,"ts":"2026-11-22T10:14:29.467928Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"ada","labels":{"team":"red","we\"ird":"$[0]"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	16,
	'delayed',
	1,
	'queued',
	'default',
	'',
	0,
	1795342469474508,
	1795342469474508,
	NULL,
	1795346069474502,
	NULL,
	NULL,
	0,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"delayed","version":1,"contract":"1.0.0","spec_digest":"0393f314e73737eb2b3a5107cf2d917d58e014abd2a254f9ddac01d89410dc92","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","not_before":"2026-11-22T11:14:29.474502Z","labels":{"team":"red"},"created_at":"2026-11-22T10:14:29.474508Z","state":"queued","updated_at":"2026-11-22T10:14:29.474508Z","queued_at":"2026-11-22T10:14:29.474508Z","attempt":0,"seq":1,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"delayed","seq":1,"ts":"2026-11-22T10:14:29.474508Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}' AS BLOB),
	NULL);
INSERT INTO specs (run, spec) VALUES (
	16,
	CAST('{"prompt":"Paint. yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"default","not_before":"2026-11-22T11:14:29.474502Z","labels":{"team":"red"}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	805306376,
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"decided","seq":1,"ts":"2026-11-22T10:14:28.070797Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":false,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":2,"ts":"2026-11-22T10:14:28.089831Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.089831Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":3,"ts":"2026-11-22T10:14:28.094509Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":4,"ts":"2026-11-22T10:14:28.099924Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.099924Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":5,"ts":"2026-11-22T10:14:28.099924Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.099924Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"auto_decide","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"wait_deadline_at":"2026-11-22T10:14:29.099924Z"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":6,"ts":"2026-11-22T10:14:29.100931Z","engine":"default","type":"interaction.auto_decide.timeout","data":{"accepted_at":"2026-11-22T10:14:29.100931Z","interaction_id":1,"policy":"safe_default","resolution_mode":"auto_decide_timeout","timeout_sec":1},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":7,"ts":"2026-11-22T10:14:29.100931Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.auto_decide.timeout","updated_at":"2026-11-22T10:14:29.100931Z"},"meta":{"attempt":1,"local_seq":6}}
{"protocol_version":"fcmp/1.0","run_id":"decided","seq":8,"ts":"2026-11-22T10:14:29.101856Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:29.101856Z"},"meta":{"attempt":2,"local_seq":1}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	1879048201,
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":1,"ts":"2026-11-22T10:14:28.101028Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_attempt":5,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":2,"ts":"2026-11-22T10:14:28.1057Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.1057Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":3,"ts":"2026-11-22T10:14:28.106796Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":4,"ts":"2026-11-22T10:14:28.109567Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2026-11-22T10:14:28.109567Z"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":5,"ts":"2026-11-22T10:14:28.109567Z","engine":"default","type":"user.input.required","data":{"asked_at":"2026-11-22T10:14:28.109567Z","context":"The wall is grey.","default_decision_policy":"safe_default","interaction_id":1,"kind":"choose_one","on_deadline":"keep_waiting","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"profile":"resumable","prompt":"Which colour?","required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]}},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":6,"ts":"2026-11-22T10:14:28.154861Z","engine":"default","type":"interaction.reply.accepted","data":{"accepted_at":"2026-11-22T10:14:28.154861Z","actor":"bob","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":7,"ts":"2026-11-22T10:14:28.154861Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2026-11-22T10:14:28.154861Z"},"meta":{"attempt":1,"local_seq":6}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":8,"ts":"2026-11-22T10:14:28.17321Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.17321Z"},"meta":{"attempt":2,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"asked-twice","seq":9,"ts":"2026-11-22T10:14:28.175213Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"I look at the wall."},"meta":{"attempt":2,"local_seq":2}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	2147483650,
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"long","seq":1,"ts":"2026-11-22T10:14:28.106229Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"default","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"long","seq":2,"ts":"2026-11-22T10:14:28.106775Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2026-11-22T10:14:28.106775Z"},"meta":{"attempt":1,"local_seq":1}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	2147483651,
	3,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"long","seq":3,"ts":"2026-11-22T10:14:28.109493Z","engine":"default","type":"assistant.message.intermediate","data":{"text":"long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long "},"meta":{"attempt":1,"local_seq":2}}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	1,
	1,
	'key-1',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.099984Z"},"resolution_mode":"user_reply","response":"red \u003cb\u003e","actor":"ada","resolved_at":"2026-11-22T10:14:28.15174Z","key":"key-1","digest":"6d4bc64b1ead2107d5a012186be762b6b8bcceef859e15bdbc10283171e30b84"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	3,
	1,
	NULL,
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.099924Z"},"resolution_mode":"auto_decide_timeout","response":"The user did not respond in time. Take the safest option, the one that changes least and can be undone, and continue; say which decision you took.","resolved_at":"2026-11-22T10:14:29.100931Z","auto_decide_reason":"user_no_reply"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	4,
	1,
	NULL,
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.09985Z"},"resolution_mode":"abandoned","resolved_at":"2026-11-22T10:14:29.100931Z"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	5,
	1,
	NULL,
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.105785Z"},"resolution_mode":"abandoned","resolved_at":"2026-11-22T10:14:28.174895Z"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	7,
	1,
	'key-1',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.109567Z"},"resolution_mode":"user_reply","response":"green","actor":"bob","resolved_at":"2026-11-22T10:14:28.154861Z","key":"key-1","digest":"d9840480be1a0f17f9750e8a64261e991629b68fa02dc1308fca5d1614d8b7fb"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	11,
	1,
	'key-2',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.121625Z"},"resolution_mode":"user_reply","response":"yellow","actor":"ada","resolved_at":"2026-11-22T10:14:29.456508Z","key":"key-2","digest":"ad50a895ec041ab12ec98ef36885a0420ec4431969083fed75579d0ac7ff3264"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	12,
	1,
	'key-2',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"choose_one","prompt":"Which colour?","options":[{"label":"Red","value":"red"},{"label":"Blue","value":"blue"}],"required_fields":["colour"],"ui_hints":{"size":3.5,"swatches":["a",true,null]},"context":"The wall is grey.","default_decision_policy":"safe_default","asked_at":"2026-11-22T10:14:28.126575Z"},"resolution_mode":"user_reply","response":"yellow","actor":"ada","resolved_at":"2026-11-22T10:14:29.445203Z","key":"key-2","digest":"ad50a895ec041ab12ec98ef36885a0420ec4431969083fed75579d0ac7ff3264"}' AS BLOB));
INSERT INTO nodes (id, identity, lease, until) VALUES (
	'06h05g03s1mn5p11y5a9defgfr',
	'another machine',
	1000000000,
	1795342470092847);
INSERT INTO pools (name, capacity, key_capacity) VALUES (
	'default',
	16,
	0);
INSERT INTO pools (name, capacity, key_capacity) VALUES (
	'p',
	8,
	4);
