package postgres

import (
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// columns are those of states that stand for what the record says; nil is NULL, and in no partial index.
type columns struct {
	queuedAt, delayedUntil, askedAt, deadline, finishedAt *int64
	ready                                                 bool
	owner                                                 *string
}

func columnsOf(r *store.Run) columns {
	c := columns{deadline: microsOf(r.Deadline), finishedAt: microsOf(r.FinishedAt)}
	if r.Owner != "" {
		c.owner = &r.Owner
	}
	if r.State == fsm.StateQueued {
		c.queuedAt = microsOf(r.QueuedAt)
		switch {
		case r.Slot: // claimed by its owner alone
		case r.NotBefore.After(r.UpdatedAt):
			c.delayedUntil = microsOf(r.NotBefore)
		default:
			c.ready = true
		}
	}
	if r.Pending != nil {
		c.askedAt = microsOf(r.Pending.AskedAt)
	}
	return c
}

func microsOf(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMicro()
	return &n
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// The statements that write a run. Each is one entry, whole or not at all; how many rows it reports tells which: one or none.
var (
	createText = sql(`WITH run AS (
			INSERT INTO interlude.runs (id, created_at, labels, spec) SELECT $1::text, $2::bigint, $3::text[], $4::bytea
			WHERE EXISTS (SELECT FROM interlude.pools WHERE name = $5::text)
			ON CONFLICT (id) DO NOTHING RETURNING n
		), state AS (
			INSERT INTO interlude.states (n, id, version, state, pool, key, priority, queued_at, ready, delayed_until, slot, epoch, record)
			SELECT n, $1::text, 1, $6::text, $5::text, $7::bytea, $8::bigint, $9::bigint, $10::boolean, $11::bigint, false, 0, $12::bytea FROM run
		), event AS (
			INSERT INTO interlude.events (run, last, first, bodies) SELECT n, $13::bigint, 1, $14::bytea FROM run WHERE $13::bigint > 0
		)
		SELECT n FROM run`)

	updateHead = `WITH state AS (
			UPDATE interlude.states SET version = $2::bigint + 1, state = $3::text, queued_at = $4::bigint, ready = $5::boolean, delayed_until = $6::bigint,
				slot = $7::boolean, owner = $8::text, epoch = $9::bigint, asked_at = $10::bigint, deadline = $11::bigint, finished_at = $12::bigint, record = $13::bytea
			WHERE n = $1::bigint AND version = $2::bigint AND ($14::text IS NULL OR owner = $14::text AND epoch = $15::bigint
				AND EXISTS (SELECT FROM interlude.nodes WHERE id = $14::text))`
	settleHead = updateHead + ` AND ($18::bytea IS NULL OR NOT EXISTS (SELECT FROM interlude.settled WHERE run = $1::bigint AND key = $18::bytea))
			RETURNING n
		), settled AS (
			INSERT INTO interlude.settled (run, id, key, record) SELECT n, $16::bigint, $18::bytea, $17::bytea FROM state
		)`
	updateText = sql(updateHead + ` RETURNING n) SELECT n FROM state`)
	reportText = sql(updateHead + ` RETURNING n)
		INSERT INTO interlude.events (run, last, first, bodies) SELECT n, $16::bigint, $17::bigint, $18::bytea FROM state`)
	settleText       = sql(settleHead + ` SELECT n FROM state`)
	settleReportText = sql(settleHead + `
		INSERT INTO interlude.events (run, last, first, bodies) SELECT n, $19::bigint, $20::bigint, $21::bytea FROM state`)
)

// queue adds the entry's statement to a batch.
func (s *Store) queue(b *pgx.Batch, e *entry) {
	r, c := &e.Run, columnsOf(&e.Run)
	if e.Expect == 0 {
		last := int64(len(e.Events))
		b.Queue(s.texts[createText], r.ID, r.CreatedAt.UnixMicro(), labelsOf(r.Labels), e.Spec, r.Pool, string(r.State), []byte(r.Key), int64(r.Priority),
			c.queuedAt, c.ready, c.delayedUntil, e.record, last, e.bodies)
		return
	}
	var node *string
	var epoch int64
	if e.Fence != nil {
		node, epoch = &e.Fence.Node, int64(e.Fence.Epoch)
	}
	args := make([]any, 15, 21)
	args[0], args[1], args[2], args[3], args[4], args[5] = e.n, int64(e.Expect), string(r.State), c.queuedAt, c.ready, c.delayedUntil
	args[6], args[7], args[8], args[9], args[10], args[11] = r.Slot, c.owner, int64(r.Epoch), c.askedAt, c.deadline, c.finishedAt
	args[12], args[13], args[14] = e.record, node, epoch
	text := updateText
	if e.Settled != nil {
		text = settleText
		args = append(args, int64(e.Settled.Question.ID), e.settled, bytesOf(e.Settled.Key))
	}
	if len(e.Events) > 0 {
		text = map[query]query{updateText: reportText, settleText: settleReportText}[text]
		args = append(args, int64(r.Seq), int64(e.first()), e.bodies)
	}
	b.Queue(s.texts[text], args...)
}

// bytesOf is NULL for no key.
func bytesOf(key string) []byte {
	if key == "" {
		return nil
	}
	return []byte(key)
}

// labelsOf are labels in a form that can be looked for, whatever is in them.
func labelsOf(labels map[string]string) []string {
	if len(labels) == 0 {
		return nil
	}
	all := make([]string, 0, len(labels))
	for k, v := range labels {
		all = append(all, strconv.QuoteToASCII(k)+"="+strconv.QuoteToASCII(v))
	}
	slices.Sort(all)
	return all
}
