-- A file of schema version 1, as the last commit before version 2 made it: runs that ended, wait, are queued, and were interrupted.
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
	'finished',
	6,
	'succeeded',
	'p',
	'k',
	0,
	1732242942543831,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	2,
	NULL,
	NULL,
	1732242942577646,
	CAST('{"id":"finished","version":6,"contract":"1.0.0","spec_digest":"2a909534dd554a120f60dafe11429e6d871b6b4b28d8aef1c97f6d91171dd887","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"finished","team":"blue"},"created_at":"2024-11-22T02:35:42.543831Z","state":"succeeded","updated_at":"2024-11-22T02:35:42.577646Z","queued_at":"2024-11-22T02:35:42.57678Z","attempt":2,"epoch":2,"seq":8,"local_seq":2,"profile":"resumable","session":{"engine":"func","data":"ZmluaXNoZWQ="},"interactions":1,"recovery_state":"none","output":{"colour":"red","run":"\u003cfinished\u003e"},"finished_at":"2024-11-22T02:35:42.577646Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"finished","seq":1,"ts":"2024-11-22T02:35:42.543831Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"finished","seq":2,"ts":"2024-11-22T02:35:42.553997Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2024-11-22T02:35:42.553997Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"finished","seq":3,"ts":"2024-11-22T02:35:42.565729Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2024-11-22T02:35:42.565729Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"finished","seq":4,"ts":"2024-11-22T02:35:42.565729Z","engine":"default","type":"user.input.required","data":{"asked_at":"2024-11-22T02:35:42.565729Z","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"open_text","on_deadline":"keep_waiting","profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"finished","seq":5,"ts":"2024-11-22T02:35:42.57678Z","engine":"default","type":"interaction.reply.accepted","data":{"accepted_at":"2024-11-22T02:35:42.57678Z","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"finished","seq":6,"ts":"2024-11-22T02:35:42.57678Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2024-11-22T02:35:42.57678Z"},"meta":{"attempt":1,"local_seq":5}}
{"protocol_version":"fcmp/1.0","run_id":"finished","seq":7,"ts":"2024-11-22T02:35:42.57715Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2024-11-22T02:35:42.57715Z"},"meta":{"attempt":2,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"finished","seq":8,"ts":"2024-11-22T02:35:42.577646Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"status":"succeeded","warnings":[]},"to":"succeeded","trigger":"turn.succeeded","updated_at":"2024-11-22T02:35:42.577646Z"},"meta":{"attempt":2,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"finished","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	2,
	'canceled',
	4,
	'canceled',
	'p',
	'k',
	0,
	1732242942567990,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1732242942578019,
	CAST('{"id":"canceled","version":4,"contract":"1.0.0","spec_digest":"c5d94a133f1de6460ae5f143308f9667ea651a6e24502e2e3910dd7c21ca9542","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"canceled","team":"blue"},"created_at":"2024-11-22T02:35:42.56799Z","state":"canceled","updated_at":"2024-11-22T02:35:42.578019Z","queued_at":"2024-11-22T02:35:42.56799Z","attempt":1,"epoch":1,"seq":5,"local_seq":4,"profile":"resumable","session":{"engine":"func","data":"Y2FuY2VsZWQ="},"interactions":1,"recovery_state":"none","error":{"code":"RUN_CANCELED","message":"no more"},"cancel_reason":"no more","finished_at":"2024-11-22T02:35:42.578019Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":1,"ts":"2024-11-22T02:35:42.56799Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":2,"ts":"2024-11-22T02:35:42.568691Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2024-11-22T02:35:42.568691Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":3,"ts":"2024-11-22T02:35:42.569223Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2024-11-22T02:35:42.569223Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":4,"ts":"2024-11-22T02:35:42.569223Z","engine":"default","type":"user.input.required","data":{"asked_at":"2024-11-22T02:35:42.569223Z","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"open_text","on_deadline":"keep_waiting","profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"canceled","seq":5,"ts":"2024-11-22T02:35:42.578019Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","terminal":{"error":{"code":"RUN_CANCELED","message":"no more"},"status":"canceled","warnings":[]},"to":"canceled","trigger":"run.canceled","updated_at":"2024-11-22T02:35:42.578019Z"},"meta":{"attempt":1,"local_seq":4}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"canceled","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	3,
	'parked',
	3,
	'waiting_user',
	'p',
	'k',
	0,
	1732242942570203,
	NULL,
	NULL,
	NULL,
	NULL,
	'06h027029wxhg431d037q6wm5g',
	1,
	1732242942570983,
	NULL,
	NULL,
	CAST('{"id":"parked","version":3,"contract":"1.0.0","spec_digest":"601a8f73225cae5ca84b8cb330ec37090f058c6dd300d2b803754fa2f45900e2","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"parked","team":"blue"},"created_at":"2024-11-22T02:35:42.570203Z","state":"waiting_user","updated_at":"2024-11-22T02:35:42.570983Z","queued_at":"2024-11-22T02:35:42.570203Z","attempt":1,"owner":"06h027029wxhg431d037q6wm5g","epoch":1,"seq":4,"local_seq":3,"profile":"resumable","session":{"engine":"func","data":"cGFya2Vk"},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"open_text","prompt":"Which colour?","default_decision_policy":"engine_judgement","asked_at":"2024-11-22T02:35:42.570983Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"parked","seq":1,"ts":"2024-11-22T02:35:42.570203Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"parked","seq":2,"ts":"2024-11-22T02:35:42.570562Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2024-11-22T02:35:42.570562Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"parked","seq":3,"ts":"2024-11-22T02:35:42.570983Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2024-11-22T02:35:42.570983Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"parked","seq":4,"ts":"2024-11-22T02:35:42.570983Z","engine":"default","type":"user.input.required","data":{"asked_at":"2024-11-22T02:35:42.570983Z","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"open_text","on_deadline":"keep_waiting","profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":3}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"parked","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	4,
	'long',
	3,
	'waiting_user',
	'p',
	'k',
	0,
	1732242942571988,
	NULL,
	NULL,
	NULL,
	NULL,
	'06h027029wxhg431d037q6wm5g',
	1,
	1732242942572877,
	NULL,
	NULL,
	CAST('{"id":"long","version":3,"contract":"1.0.0","spec_digest":"b5f9dc61c30d9f320f7f4f3b4ffc7616034ca096398d140052825a7863295057","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"long","team":"blue"},"created_at":"2024-11-22T02:35:42.571988Z","state":"waiting_user","updated_at":"2024-11-22T02:35:42.572877Z","queued_at":"2024-11-22T02:35:42.571988Z","attempt":1,"owner":"06h027029wxhg431d037q6wm5g","epoch":1,"seq":4,"local_seq":3,"profile":"resumable","session":{"engine":"func","data":"bG9uZw=="},"interactions":1,"pending":{"interaction_id":1,"attempt":1,"kind":"open_text","prompt":"Which colour?","context":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","default_decision_policy":"engine_judgement","asked_at":"2024-11-22T02:35:42.572877Z"},"recovery_state":"none"}' AS BLOB),
	5,
	CAST('' AS BLOB),
	NULL);
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	5,
	'answered',
	4,
	'queued',
	'p',
	'k',
	0,
	1732242942573885,
	1732242942883645,
	1,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"answered","version":4,"contract":"1.0.0","spec_digest":"c09edfce59144ae22e0dfc010e9e5e65b751aabc11a12a32f66b6a76ccdc8010","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"answered","team":"blue"},"created_at":"2024-11-22T02:35:42.573885Z","state":"queued","updated_at":"2024-11-22T02:35:42.883645Z","queued_at":"2024-11-22T02:35:42.883645Z","attempt":1,"epoch":1,"seq":6,"local_seq":5,"profile":"resumable","session":{"engine":"func","data":"YW5zd2VyZWQ="},"interactions":1,"answer":{"interaction_id":1,"resolution_mode":"user_reply","text":"green","accepted_at":"2024-11-22T02:35:42.883645Z"},"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"answered","seq":1,"ts":"2024-11-22T02:35:42.573885Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":2,"ts":"2024-11-22T02:35:42.574208Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2024-11-22T02:35:42.574208Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":3,"ts":"2024-11-22T02:35:42.57459Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2024-11-22T02:35:42.57459Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":4,"ts":"2024-11-22T02:35:42.57459Z","engine":"default","type":"user.input.required","data":{"asked_at":"2024-11-22T02:35:42.57459Z","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"open_text","on_deadline":"keep_waiting","profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":3}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":5,"ts":"2024-11-22T02:35:42.883645Z","engine":"default","type":"interaction.reply.accepted","data":{"accepted_at":"2024-11-22T02:35:42.883645Z","interaction_id":1,"resolution_mode":"user_reply"},"meta":{"attempt":1,"local_seq":4}}
{"protocol_version":"fcmp/1.0","run_id":"answered","seq":6,"ts":"2024-11-22T02:35:42.883645Z","engine":"default","type":"conversation.state.changed","data":{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2024-11-22T02:35:42.883645Z"},"meta":{"attempt":1,"local_seq":5}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"answered","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	6,
	'failed',
	3,
	'failed',
	'p',
	'k',
	0,
	1732242942575604,
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	1,
	NULL,
	NULL,
	1732242942576282,
	CAST('{"id":"failed","version":3,"contract":"1.0.0","spec_digest":"9cdafdcb7d1b8ba692b912f511d958ce7a5cad9d0953c6960c76fd444f2a7081","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"failed","team":"blue"},"created_at":"2024-11-22T02:35:42.575604Z","state":"failed","updated_at":"2024-11-22T02:35:42.576282Z","queued_at":"2024-11-22T02:35:42.575604Z","attempt":1,"epoch":1,"seq":3,"local_seq":2,"profile":"resumable","recovery_state":"none","error":{"code":"ENGINE_FAILED","message":"out of order"},"finished_at":"2024-11-22T02:35:42.576282Z"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"failed","seq":1,"ts":"2024-11-22T02:35:42.575604Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"failed","seq":2,"ts":"2024-11-22T02:35:42.575912Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2024-11-22T02:35:42.575912Z"},"meta":{"attempt":1,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"failed","seq":3,"ts":"2024-11-22T02:35:42.576282Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","terminal":{"error":{"code":"ENGINE_FAILED","message":"out of order"},"status":"failed","warnings":[]},"to":"failed","trigger":"turn.failed","updated_at":"2024-11-22T02:35:42.576282Z"},"meta":{"attempt":1,"local_seq":2}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"failed","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	7,
	'interrupted',
	2,
	'running',
	'p',
	'k',
	0,
	1732242942578346,
	NULL,
	NULL,
	NULL,
	1,
	'06h027029wxhg431d037q6wm5g',
	1,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"interrupted","version":2,"contract":"1.0.0","spec_digest":"bc49480ca1a21eef71cf35cf76e1cf76dbe1aac3223cefa61526884a98c0fb62","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"repeatable":true,"pool":"p","key":"k","labels":{"run":"interrupted","team":"blue"},"created_at":"2024-11-22T02:35:42.578346Z","state":"running","updated_at":"2024-11-22T02:35:42.578603Z","queued_at":"2024-11-22T02:35:42.578346Z","attempt":1,"slot":true,"owner":"06h027029wxhg431d037q6wm5g","epoch":1,"seq":2,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"interrupted","seq":1,"ts":"2024-11-22T02:35:42.578346Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"interrupted","seq":2,"ts":"2024-11-22T02:35:42.578603Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2024-11-22T02:35:42.578603Z"},"meta":{"attempt":1,"local_seq":1}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"repeatable":true,"pool":"p","key":"k","labels":{"run":"interrupted","team":"blue"}}' AS BLOB));
INSERT INTO runs (n, id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline, finished_at, record, first, tail, spec) VALUES (
	8,
	'queued',
	1,
	'queued',
	'p',
	'',
	0,
	1732242942889460,
	1732242942889460,
	1,
	NULL,
	NULL,
	NULL,
	0,
	NULL,
	NULL,
	NULL,
	CAST('{"id":"queued","version":1,"contract":"1.0.0","spec_digest":"62b4b4c969765e75ef0499d04a70ea6e9e97e534da997c6e7f471b50930cd2ca","engine":"default","mode":"interactive","strict":true,"session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","labels":{"team":"red","we\"ird":"$[0]"},"created_at":"2024-11-22T02:35:42.88946Z","state":"queued","updated_at":"2024-11-22T02:35:42.88946Z","queued_at":"2024-11-22T02:35:42.88946Z","attempt":0,"seq":1,"local_seq":1,"recovery_state":"none"}' AS BLOB),
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"queued","seq":1,"ts":"2024-11-22T02:35:42.88946Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}' AS BLOB),
	CAST('{"prompt":"Paint.","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","labels":{"team":"red","we\"ird":"$[0]"}}' AS BLOB));
INSERT INTO specs (run, spec) VALUES (
	4,
	CAST('{"prompt":"Paint. yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy","mode":"interactive","engine":"default","session_timeout":1200000000000,"max_auto_decisions":20,"pool":"p","key":"k","labels":{"run":"long","team":"blue"}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	1073741826,
	1,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"long","seq":1,"ts":"2024-11-22T02:35:42.571988Z","engine":"default","type":"conversation.started","data":{"contract_version":"1.0.0","interactive_require_user_reply":true,"max_auto_decisions":20,"mode":"interactive","pool":"p","session_timeout_sec":1200},"meta":{"attempt":0,"local_seq":1}}
{"protocol_version":"fcmp/1.0","run_id":"long","seq":2,"ts":"2024-11-22T02:35:42.572396Z","engine":"default","type":"conversation.state.changed","data":{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2024-11-22T02:35:42.572396Z"},"meta":{"attempt":1,"local_seq":1}}' AS BLOB));
INSERT INTO log (k, first, bodies) VALUES (
	1073741828,
	3,
	CAST('{"protocol_version":"fcmp/1.0","run_id":"long","seq":3,"ts":"2024-11-22T02:35:42.572877Z","engine":"default","type":"conversation.state.changed","data":{"from":"running","pending_interaction_id":1,"to":"waiting_user","trigger":"turn.needs_input","updated_at":"2024-11-22T02:35:42.572877Z"},"meta":{"attempt":1,"local_seq":2}}
{"protocol_version":"fcmp/1.0","run_id":"long","seq":4,"ts":"2024-11-22T02:35:42.572877Z","engine":"default","type":"user.input.required","data":{"asked_at":"2024-11-22T02:35:42.572877Z","context":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","default_decision_policy":"engine_judgement","interaction_id":1,"kind":"open_text","on_deadline":"keep_waiting","profile":"resumable","prompt":"Which colour?"},"meta":{"attempt":1,"local_seq":3}}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	1,
	1,
	'key-1',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"open_text","prompt":"Which colour?","default_decision_policy":"engine_judgement","asked_at":"2024-11-22T02:35:42.565729Z"},"resolution_mode":"user_reply","response":"red","resolved_at":"2024-11-22T02:35:42.57678Z","key":"key-1","digest":"7a73acffdd51097789b7e787a58f60865d5b07e86148647a11fd9aadb7f3afe8"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	2,
	1,
	NULL,
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"open_text","prompt":"Which colour?","default_decision_policy":"engine_judgement","asked_at":"2024-11-22T02:35:42.569223Z"},"resolution_mode":"abandoned","resolved_at":"2024-11-22T02:35:42.578019Z"}' AS BLOB));
INSERT INTO settled (run, id, key, record) VALUES (
	5,
	1,
	'key-2',
	CAST('{"question":{"interaction_id":1,"attempt":1,"kind":"open_text","prompt":"Which colour?","default_decision_policy":"engine_judgement","asked_at":"2024-11-22T02:35:42.57459Z"},"resolution_mode":"user_reply","response":"green","resolved_at":"2024-11-22T02:35:42.883645Z","key":"key-2","digest":"d9840480be1a0f17f9750e8a64261e991629b68fa02dc1308fca5d1614d8b7fb"}' AS BLOB));
INSERT INTO nodes (id, identity, lease, until) VALUES (
	'06h027029wxhg431d037q6wm5g',
	'another machine',
	1000000000,
	1732242943545437);
INSERT INTO pools (name, capacity, key_capacity) VALUES (
	'default',
	16,
	0);
INSERT INTO pools (name, capacity, key_capacity) VALUES (
	'p',
	8,
	8);
