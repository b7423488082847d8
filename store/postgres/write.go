package postgres

import (
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// The statements that write runs, any number at once. Each run is written completely or not at all,
// and the written ones are returned.
var (
	createText = sql(createStatement(false))
	// createOneText is createText for one run: see rowsText.
	createOneText = sql(createStatement(true))

	// updateTexts name rows and versions: a run changed since is not written.
	updateTexts = registerUpdates()

	// nestedLoopsText precedes each of them, unless the transaction has these settings.
	nestedLoopsText = sql(`SELECT ` + nestedLoops)
)

// rowsText returns the source of a statement's argument rows, column by column. The server builds a
// tuplestore for each column of an unnest, and frees its memory at the end of the statement: a
// third of the time of a statement for one commit. Most flushes of a lightly loaded store have one,
// so its arguments are plain values.
func rowsText(one bool, columns string) string {
	if one {
		return "(VALUES (" + strings.ReplaceAll(columns, "[]", "") + "))"
	}
	return "unnest(" + columns + ")"
}

func onlyRow(columns []any) {
	for i, column := range columns {
		switch column := column.(type) {
		case []int64:
			columns[i] = column[0]
		case []*int64:
			columns[i] = column[0]
		case []bool:
			columns[i] = column[0]
		case []string:
			columns[i] = column[0]
		case []*string:
			columns[i] = column[0]
		case [][]byte:
			columns[i] = column[0]
		}
	}
}

func createStatement(one bool) string {
	return `WITH v AS MATERIALIZED (
			SELECT * FROM ` + rowsText(one, `$1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::text[], $6::text[],
				$7::bytea[], $8::bigint[], $9::bigint[],
				$10::boolean[], $11::bigint[], $12::bytea[], $13::bigint[], $14::bytea[], $15::bytea[]`) + `
			AS v (id, created_at, labels, spec, pool, state, key, priority, queued_at, ready, delayed_until, record,
				last, bodies, engine)
		), run AS (
			INSERT INTO interlude.runs (id, created_at, labels, spec) SELECT id, created_at, labels::text[], spec FROM v
			WHERE EXISTS (SELECT FROM interlude.pools WHERE pools.name = v.pool) AND ` + isCurrent(16) + `
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
		SELECT n, id FROM run`
}

type updateKind struct {
	// fenced is for commits with fences. The statement locks their nodes' rows, so that expiring a
	// node waits until the write is stored. Only roles that execute runs have the right to lock.
	fenced bool
	// usage is for commits with usage, which are fenced. Most have none, and avoid its columns'
	// cost.
	usage bool
	// several is for commits that settle several questions or a question with votes, or change an
	// audience. If fenced, it also has the columns of usage and journals.
	several bool
	// one is for a single commit: see rowsText.
	one bool
}

func registerUpdates() map[updateKind]statement {
	all := make(map[updateKind]statement)
	for _, one := range []bool{false, true} {
		for _, k := range []updateKind{
			{}, {fenced: true}, {fenced: true, usage: true},
			{several: true}, {fenced: true, usage: true, several: true},
		} {
			k.one = one
			all[k] = sql(updateStatement(k))
		}
	}
	return all
}

const nodeLock = "FOR KEY SHARE"

func updateStatement(k updateKind) string {
	var lock, arguments, columns, insert string
	if k.fenced {
		lock = nodeLock
	}
	if k.usage {
		arguments = `, $24::bigint[], $25::bigint[], $26::bigint[], $27::bigint[], $28::bigint[]`
		columns = `, attempt, input, output, cost, worked`
		insert = `, usage AS (
			INSERT INTO interlude.usage (run, attempt, input, output, cost, worked)
				SELECT n, attempt, input, output, cost, worked FROM state WHERE attempt > 0
		)`
	}
	if k.several {
		further, first := `unnest($24::bigint[], $25::bigint[], $26::bytea[])`, 27
		if k.usage {
			further, first = `unnest($29::bigint[], $30::bigint[], $31::bytea[])`, 32
		}
		insert += `, further AS (
			INSERT INTO interlude.settled (run, id, record) SELECT f.run, f.question, f.record
				FROM ` + further + ` AS f (run, question, record) JOIN state ON state.n = f.run
		)` + askedText(first) + insertVoted(first+5)
		if k.usage { // only roles that execute runs may write journals
			insert += journalText(first + 8)
		}
	}
	returned := strings.ReplaceAll(columns, ", ", ", v.")
	return `WITH state AS (
			UPDATE interlude.states s
				SET version = v.expect + 1, state = v.state, queued_at = v.queued_at,
					ready = v.engine IS NOT NULL AND v.delayed_until IS NULL, engine = coalesce(v.engine, s.engine),
					delayed_until = v.delayed_until,
				slot = v.slot, owner = v.owner, epoch = v.epoch, asked_at = v.asked_at, deadline = v.deadline,
					finished_at = v.finished_at, record = v.record
			FROM ` + rowsText(k.one, `$1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bytea[], $6::bigint[],
				$7::boolean[], $8::text[], $9::bigint[],
				$10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[], $14::text[], $15::bigint[], $16::bigint[],
					$17::bigint[], $18::bytea[],
				$19::bigint[], $20::bytea[], $21::bytea[],
				$22::bigint[]`+arguments) + `
			AS v (n, expect, state, queued_at, engine, delayed_until, slot, owner, epoch, asked_at, deadline,
				finished_at, record, node, held, first, last,
				bodies, question, key, settled, recovered` + columns + `)
			WHERE s.n = v.n AND s.version = v.expect AND ` + isCurrent(23) + `
				AND (v.node IS NULL OR s.owner = v.node AND s.epoch = v.held AND EXISTS (SELECT FROM interlude.nodes
					WHERE nodes.id = v.node ` + lock + `))
				AND (v.key IS NULL OR (SELECT true FROM interlude.settled WHERE settled.run = v.n
					AND settled.key = v.key LIMIT 1) IS NULL)
				AND (s.asked_at IS NULL OR s.slot OR NOT EXISTS (SELECT FROM interlude.departed d WHERE d.id = s.owner
					AND d.at > v.recovered))
			RETURNING s.n, v.first, v.last, v.bodies, v.question, v.key, v.settled` + returned + `
		), event AS (
			INSERT INTO interlude.events (run, last, first, bodies) SELECT n, last, first, bodies FROM state
				WHERE last >= first
		), settled AS (
			INSERT INTO interlude.settled (run, id, key, record) SELECT n, question, key, settled FROM state
				WHERE question > 0
		)` + insert + `
		SELECT n FROM state`
}

type createColumns struct {
	id, pool, state           []string
	createdAt, priority, last []int64
	labels                    []*string
	spec, key, record, bodies [][]byte
	engine                    [][]byte
	queuedAt, delayedUntil    []*int64
	ready                     []bool
}

type updateColumns struct {
	n, expect, epoch, held, first, last, question         []int64
	recovered                                             []int64
	state                                                 []string
	queuedAt, delayedUntil, askedAt, deadline, finishedAt []*int64
	slot                                                  []bool
	owner, node                                           []*string
	record, bodies, key, settled                          [][]byte
	engine                                                [][]byte // for runs that need a slot
	usage                                                 usageColumns
	further                                               furtherColumns
	asked                                                 askedColumns
	voted                                                 votedColumns
	journal                                               journalColumns
}

// furtherColumns are updateTexts' arguments for several, one row per settled question after the
// first, which is stored with its run.
type furtherColumns struct {
	run, question []int64
	record        [][]byte
}

// votedColumns are updateTexts' arguments for several, one row per vote on a settled question.
type votedColumns struct {
	run, question []int64
	key           [][]byte
}

func (v *votedColumns) add(p *pendingCommit) {
	for i := range p.Settled {
		q := &p.Settled[i].Question
		for j := range q.Votes {
			v.run, v.question = append(v.run, p.row), append(v.question, int64(q.ID))
			v.key = append(v.key, []byte(q.Votes[j].Key))
		}
	}
}

// insertVoted is the part of a statement that indexes the stored commits' votes. first is the
// number of its first of three arguments.
func insertVoted(first int) string {
	return fmt.Sprintf(`, voted AS (
			INSERT INTO interlude.voted (run, key, id, part) SELECT v.run, v.key, v.question, v.part
				FROM unnest($%d::bigint[], $%d::bigint[], $%d::bytea[]) WITH ORDINALITY
					AS v (run, question, key, part) JOIN state ON state.n = v.run
		)`, first, first+1, first+2)
}

// usageColumns are updateTexts' arguments for usage. A commit without usage has the attempt 0.
type usageColumns struct{ attempt, input, output, cost, worked []int64 }

func (u *usageColumns) add(p *pendingCommit) {
	var attempt int64
	var usage store.Usage
	if p.Usage != nil {
		attempt, usage = int64(p.Run.Attempt), *p.Usage
	}
	u.attempt, u.input = append(u.attempt, attempt), append(u.input, usage.InputTokens)
	u.output, u.cost = append(u.output, usage.OutputTokens), append(u.cost, usage.CostMicroUSD)
	u.worked = append(u.worked, usage.Worked.Microseconds())
}

func (c *createColumns) add(p *pendingCommit) {
	r, h := &p.Run, columnsOf(&p.Run)
	c.id, c.pool, c.state = append(c.id, r.ID), append(c.pool, r.Pool), append(c.state, string(r.State))
	c.createdAt, c.priority = append(c.createdAt, r.CreatedAt.UnixMicro()), append(c.priority, int64(r.Priority))
	c.last, c.bodies = append(c.last, int64(len(p.Events))), append(c.bodies, p.EventLines)
	c.labels, c.spec = append(c.labels, labelsArray(labelsOf(r))), append(c.spec, p.Spec)
	c.key, c.record, c.engine = append(c.key, []byte(r.Key)), append(c.record, p.Record),
		append(c.engine, []byte(r.Engine))
	c.queuedAt, c.delayedUntil, c.ready = append(c.queuedAt, h.queuedAt), append(c.delayedUntil, h.delayedUntil),
		append(c.ready, h.ready)
}

func (u *updateColumns) add(p *pendingCommit, incarnation uint64) {
	r, h := &p.Run, columnsOf(&p.Run)
	row := p.row
	if p.isOutdated(incarnation) {
		row = 0 // of no run
	}
	u.n, u.expect, u.epoch = append(u.n, row), append(u.expect, int64(p.Expect)), append(u.epoch, int64(r.Epoch))
	u.state, u.engine, u.slot, u.owner = append(u.state, string(r.State)), append(u.engine, h.engine),
		append(u.slot, r.Slot), append(u.owner, h.owner)
	u.queuedAt, u.delayedUntil = append(u.queuedAt, h.queuedAt), append(u.delayedUntil, h.delayedUntil)
	u.askedAt, u.deadline, u.finishedAt = append(u.askedAt, h.askedAt), append(u.deadline, h.deadline),
		append(u.finishedAt, h.finishedAt)
	u.record, u.first, u.last, u.bodies = append(u.record, p.Record), append(u.first, int64(p.FirstSeq())),
		append(u.last, int64(r.Seq)), append(u.bodies, p.EventLines)
	var node *string
	var held, question int64
	var key, settled []byte
	if p.Fence != nil {
		node, held = &p.Fence.Node, int64(p.Fence.Epoch)
	}
	main := 0 // the settled question stored with its run: preferably with a key
	for i := range p.Settled {
		if p.Settled[i].Key != "" {
			main = i
		}
	}
	for i := range p.Settled {
		if i == main {
			question, key, settled = int64(p.Settled[i].Question.ID), bytesColumn(p.Settled[i].Key), p.SettledRecords[i]
			continue
		}
		f := &u.further
		f.run, f.question, f.record = append(f.run, p.row), append(f.question, int64(p.Settled[i].Question.ID)),
			append(f.record, p.SettledRecords[i])
	}
	u.asked.add(p)
	u.voted.add(p)
	u.journal.add(p)
	u.recovered = append(u.recovered, recoveredColumn(r))
	u.node, u.held = append(u.node, node), append(u.held, held)
	u.question, u.key, u.settled = append(u.question, question), append(u.key, key), append(u.settled, settled)
}

// recoveredColumn is the latest departure of the parking node that the record reflects: see
// store.Run.MissesDeparture.
func recoveredColumn(r *store.Run) int64 {
	switch {
	case !r.HasSession():
		return math.MaxInt64
	case r.RecoveredAt.IsZero():
		return math.MinInt64
	}
	return r.RecoveredAt.UnixMicro()
}

// queueWrites adds the commits' statements to a batch; the first creating ones create runs.
// shareParkersText and nestedLoopsText precede changes of runs, unless the transaction's guard has
// executed them.
func (s *Store) queueWrites(b *pgx.Batch, commits []*pendingCommit, creating int, guarded bool) {
	if creating > 0 {
		s.queueCreates(b, commits[:creating])
	}
	if creating == len(commits) {
		return
	}
	if !guarded {
		if parkers := parkersOf(commits[creating:]); len(parkers) > 0 {
			b.Queue(s.texts[shareParkersText], s.parkerLock(), parkers)
		}
		b.Queue(s.texts[nestedLoopsText])
	}
	s.queueUpdates(b, commits[creating:])
}

func (s *Store) queueCreates(b *pgx.Batch, commits []*pendingCommit) {
	var c createColumns
	incarnation := s.incarnation.Load()
	for _, p := range commits {
		p.Mark(incarnation)
		p.Run.Incarnation = incarnation
		c.add(p)
	}
	columns := []any{c.id, c.createdAt, c.labels, c.spec, c.pool, c.state, c.key, c.priority, c.queuedAt, c.ready,
		c.delayedUntil, c.record, c.last, c.bodies, c.engine, int64(incarnation)}
	text := createText
	if len(commits) == 1 {
		onlyRow(columns)
		text = createOneText
	}
	b.Queue(s.texts[text], columns...)
}

func (s *Store) queueUpdates(b *pgx.Batch, commits []*pendingCommit) {
	var u updateColumns
	k := updateKind{one: len(commits) == 1}
	incarnation := s.incarnation.Load()
	for _, p := range commits {
		p.Mark(incarnation)
		u.add(p, incarnation)
		k.fenced, k.usage = k.fenced || p.Fence != nil, k.usage || p.Usage != nil
	}
	journal := len(u.journal.run) > 0
	k.several = len(u.further.run) > 0 || len(u.asked.changed) > 0 || len(u.voted.run) > 0 || journal
	k.usage = k.usage || journal || k.fenced && k.several
	k.fenced = k.fenced || k.usage
	arguments := []any{u.n, u.expect, u.state, u.queuedAt, u.engine, u.delayedUntil, u.slot, u.owner, u.epoch,
		u.askedAt, u.deadline, u.finishedAt, u.record, u.node, u.held, u.first, u.last, u.bodies, u.question, u.key,
		u.settled, u.recovered, int64(incarnation)}
	if k.usage {
		for _, p := range commits {
			u.usage.add(p)
		}
		arguments = append(arguments, u.usage.attempt, u.usage.input, u.usage.output, u.usage.cost, u.usage.worked)
	}
	if k.one {
		onlyRow(arguments)
	}
	if k.several {
		arguments = append(arguments, u.further.run, u.further.question, u.further.record,
			u.asked.changed, u.asked.run, u.asked.since, u.asked.principal, u.asked.id,
			u.voted.run, u.voted.question, u.voted.key)
	}
	if k.several && k.usage {
		arguments = append(arguments, u.journal.run, u.journal.number, u.journal.path, u.journal.name,
			u.journal.kind, u.journal.body)
	}
	b.Queue(s.texts[updateTexts[k]], arguments...)
}

func readWritten(results pgx.BatchResults, commits []*pendingCommit, creating int, guarded bool) error {
	if creating > 0 {
		if err := readCreated(results, commits[:creating]); err != nil {
			return err
		}
	}
	if creating == len(commits) {
		return nil
	}
	before := 0
	if !guarded {
		before = 1
		if len(parkersOf(commits[creating:])) > 0 {
			before++
		}
	}
	for range before {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	return readUpdated(results, commits[creating:])
}

func readCreated(results pgx.BatchResults, commits []*pendingCommit) error {
	rows := make(map[string]int64, len(commits))
	var row int64
	var id string
	result, _ := results.Query() // ForEachRow returns its error too
	_, err := pgx.ForEachRow(result, []any{&row, &id}, func() error {
		rows[id] = row
		return nil
	})
	for _, p := range commits {
		p.row = rows[p.Run.ID]
		p.written = p.row != 0
	}
	return err
}

func readUpdated(results pgx.BatchResults, commits []*pendingCommit) error {
	written := make(map[int64]bool, len(commits))
	var row int64
	result, _ := results.Query() // as above
	_, err := pgx.ForEachRow(result, []any{&row}, func() error {
		written[row] = true
		return nil
	})
	for _, p := range commits {
		p.written = written[p.row]
	}
	return err
}
