package postgres

import "github.com/jackc/pgx/v5"

// The statements that write runs, any number of them at once. Each run is written whole or not at
// all, and those that were are returned.
var (
	createText = sql(`WITH v AS MATERIALIZED (
			SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::bytea[],
				$8::bigint[], $9::bigint[],
				$10::boolean[], $11::bigint[], $12::bytea[], $13::bigint[], $14::bytea[], $15::bytea[])
			AS v (id, created_at, labels, spec, pool, state, key, priority, queued_at, ready, delayed_until, record,
				last, bodies, engine)
		), run AS (
			INSERT INTO interlude.runs (id, created_at, labels, spec) SELECT id, created_at, labels::text[], spec FROM v
			WHERE EXISTS (SELECT FROM interlude.pools WHERE pools.name = v.pool)
			ON CONFLICT (id) DO NOTHING RETURNING n, id
		), made AS MATERIALIZED (
			SELECT run.n, v.* FROM run JOIN v ON v.id = run.id
		), state AS (
			INSERT INTO interlude.states (n, id, version, state, engine, pool, key, priority, queued_at, ready,
				delayed_until, slot, epoch, record)
			SELECT n, id, 1, state, engine, pool, key, priority, queued_at, ready, delayed_until, false, 0, record
				FROM made
		), event AS (
			INSERT INTO interlude.events (run, last, first, bodies) SELECT n, last, 1, bodies FROM made WHERE last > 0
		)
		SELECT n, id FROM run`)

	// updateText is bound to rows and versions: whatever else has changed a run meanwhile, it is
	// not written then.
	updateText = sql(updating(""))
	// fencedText is updateText for entries of which some have fences. Who expires the node of one
	// meanwhile waits until the write is stored, so that none is stored afterwards. The lock takes
	// a right that only those have who execute runs.
	fencedText = sql(updating("FOR KEY SHARE"))

	// nestedText goes before both.
	nestedText = sql(`SELECT ` + nested)
)

// updating is the statement that changes runs, with what is done to the row of a fence's node.
func updating(lock string) string {
	return `WITH state AS (
			UPDATE interlude.states s
				SET version = v.expect + 1, state = v.state, queued_at = v.queued_at, ready = v.ready,
					delayed_until = v.delayed_until,
				slot = v.slot, owner = v.owner, epoch = v.epoch, asked_at = v.asked_at, deadline = v.deadline,
					finished_at = v.finished_at, record = v.record
			FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::boolean[], $6::bigint[],
				$7::boolean[], $8::text[], $9::bigint[],
				$10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[], $14::text[], $15::bigint[], $16::bigint[],
					$17::bigint[], $18::bytea[],
				$19::bigint[], $20::bytea[], $21::bytea[])
			AS v (n, expect, state, queued_at, ready, delayed_until, slot, owner, epoch, asked_at, deadline,
				finished_at, record, node, held, first, last,
				bodies, question, key, settled)
			WHERE s.n = v.n AND s.version = v.expect
				AND (v.node IS NULL OR s.owner = v.node AND s.epoch = v.held AND EXISTS (SELECT FROM interlude.nodes
					WHERE nodes.id = v.node ` + lock + `))
				AND (v.key IS NULL OR NOT EXISTS (SELECT FROM interlude.settled WHERE settled.run = v.n
					AND settled.key = v.key))
			RETURNING s.n, v.first, v.last, v.bodies, v.question, v.key, v.settled
		), event AS (
			INSERT INTO interlude.events (run, last, first, bodies) SELECT n, last, first, bodies FROM state
				WHERE last >= first
		), settled AS (
			INSERT INTO interlude.settled (run, id, key, record) SELECT n, question, key, settled FROM state
				WHERE question > 0
		)
		SELECT n FROM state`
}

// creations are the rows of entries that create runs, column by column.
type creations struct {
	id, pool, state           []string
	createdAt, priority, last []int64
	labels                    []*string
	spec, key, record, bodies [][]byte
	engine                    [][]byte
	queuedAt, delayedUntil    []*int64
	ready                     []bool
}

// updates are the rows of entries that change runs, column by column.
type updates struct {
	n, expect, epoch, held, first, last, question         []int64
	state                                                 []string
	queuedAt, delayedUntil, askedAt, deadline, finishedAt []*int64
	ready, slot                                           []bool
	owner, node                                           []*string
	record, bodies, key, settled                          [][]byte
}

func (c *creations) add(e *entry) {
	r, h := &e.Run, columnsOf(&e.Run)
	c.id, c.pool, c.state = append(c.id, r.ID), append(c.pool, r.Pool), append(c.state, string(r.State))
	c.createdAt, c.priority = append(c.createdAt, r.CreatedAt.UnixMicro()), append(c.priority, int64(r.Priority))
	c.last, c.bodies = append(c.last, int64(len(e.Events))), append(c.bodies, e.bodies)
	c.labels, c.spec = append(c.labels, labelsText(r.Labels)), append(c.spec, e.Spec)
	c.key, c.record, c.engine = append(c.key, []byte(r.Key)), append(c.record, e.record),
		append(c.engine, []byte(r.Engine))
	c.queuedAt, c.delayedUntil, c.ready = append(c.queuedAt, h.queuedAt), append(c.delayedUntil, h.delayedUntil),
		append(c.ready, h.ready)
}

func (u *updates) add(e *entry) {
	r, h := &e.Run, columnsOf(&e.Run)
	u.n, u.expect, u.epoch = append(u.n, e.n), append(u.expect, int64(e.Expect)), append(u.epoch, int64(r.Epoch))
	u.state, u.ready, u.slot, u.owner = append(u.state, string(r.State)), append(u.ready, h.ready),
		append(u.slot, r.Slot), append(u.owner, h.owner)
	u.queuedAt, u.delayedUntil = append(u.queuedAt, h.queuedAt), append(u.delayedUntil, h.delayedUntil)
	u.askedAt, u.deadline, u.finishedAt = append(u.askedAt, h.askedAt), append(u.deadline, h.deadline),
		append(u.finishedAt, h.finishedAt)
	u.record, u.first, u.last, u.bodies = append(u.record, e.record), append(u.first, int64(e.first())),
		append(u.last, int64(r.Seq)), append(u.bodies, e.bodies)
	var node *string
	var held, question int64
	var key []byte
	if e.Fence != nil {
		node, held = &e.Fence.Node, int64(e.Fence.Epoch)
	}
	if e.Settled != nil {
		question, key = int64(e.Settled.Question.ID), bytesOf(e.Settled.Key)
	}
	u.node, u.held = append(u.node, node), append(u.held, held)
	u.question, u.key, u.settled = append(u.question, question), append(u.key, key), append(u.settled, e.settled)
}

// queue adds the entries' statements to a batch: first those that create runs. It is told how many
// entries do.
func (s *Store) queue(b *pgx.Batch, entries []*entry, creating int) {
	if creating > 0 {
		var c creations
		for _, e := range entries[:creating] {
			c.add(e)
		}
		b.Queue(s.texts[createText], c.id, c.createdAt, c.labels, c.spec, c.pool, c.state, c.key, c.priority,
			c.queuedAt,
			c.ready, c.delayedUntil, c.record, c.last, c.bodies, c.engine)
	}
	if creating < len(entries) {
		b.Queue(s.texts[nestedText])
		s.queueUpdates(b, entries[creating:])
	}
}

func (s *Store) queueUpdates(b *pgx.Batch, entries []*entry) {
	var u updates
	text := updateText
	for _, e := range entries {
		u.add(e)
		if e.Fence != nil {
			text = fencedText
		}
	}
	b.Queue(s.texts[text], u.n, u.expect, u.state, u.queuedAt, u.ready, u.delayedUntil, u.slot, u.owner, u.epoch,
		u.askedAt, u.deadline, u.finishedAt, u.record, u.node, u.held, u.first, u.last, u.bodies, u.question, u.key,
		u.settled)
}

// collect reads the results of what queue has added, and marks the entries that were written.
func collect(results pgx.BatchResults, entries []*entry, creating int) error {
	if creating > 0 {
		if err := collectCreations(results, entries[:creating]); err != nil {
			return err
		}
	}
	if creating == len(entries) {
		return nil
	}
	if _, err := results.Exec(); err != nil {
		return err
	}
	return collectUpdates(results, entries[creating:])
}

func collectCreations(results pgx.BatchResults, entries []*entry) error {
	made := make(map[string]int64, len(entries))
	var n int64
	var id string
	rows, _ := results.Query() // ForEachRow tells its error too
	_, err := pgx.ForEachRow(rows, []any{&n, &id}, func() error {
		made[id] = n
		return nil
	})
	for _, e := range entries {
		e.n = made[e.Run.ID]
		e.made = e.n != 0
	}
	return err
}

func collectUpdates(results pgx.BatchResults, entries []*entry) error {
	made := make(map[int64]bool, len(entries))
	var n int64
	rows, _ := results.Query() // as above
	_, err := pgx.ForEachRow(rows, []any{&n}, func() error {
		made[n] = true
		return nil
	})
	for _, e := range entries {
		e.made = made[e.n]
	}
	return err
}
