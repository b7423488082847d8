package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/cache"
	"github.com/interlude-go/interlude/store/internal/entry"
)

// While some feed is not lost, triggers record the commits of earlier releases. This release
// records its commits itself, with one row per transaction: a row per commit, or a trigger that
// counts events, would cost more than the rest of a commit. Its statements avoid firing the
// triggers:
//
//   - It creates a run with 0 in the column "slot", where earlier releases use NULL. Both mean that
//     the run has no slot.
//   - Its updates name the column "first" only if the value changes, while earlier releases always
//     name it. If the trigger fires for an update of this release, it finds that the commit was
//     just recorded.
//
// Another trigger makes a feed lost when a run with an unacknowledged last commit is deleted. After
// a delete by an earlier release all feeds may be lost while the triggers still exist, so they
// check whether a feed needs the commit.
const (
	makeTriggers = `CREATE TRIGGER IF NOT EXISTS feed_created AFTER INSERT ON runs
	WHEN new.slot IS NULL AND ` + commitsNeeded + ` BEGIN
	INSERT OR ROLLBACK INTO noted (position, size, commits)
		SELECT ` + lastPosition + ` + 1, 1, new.n || ' 1 ' || ` + lastOfNew + ` WHERE ` + lastOfNew + ` > 0;
END;
CREATE TRIGGER IF NOT EXISTS feed_changed AFTER UPDATE OF first ON runs
	WHEN ` + commitsNeeded + ` AND ` + lastOfNew + ` > ` + lastOfOld + ` AND NOT EXISTS (SELECT 1 FROM noted
		WHERE position = ` + lastPosition + ` AND commits = ` + changeOfNew + `) BEGIN
	INSERT OR ROLLBACK INTO noted (position, size, commits) SELECT ` + lastPosition + ` + 1, 1, ` + changeOfNew + `;
	INSERT OR REPLACE INTO ended (run, position) SELECT new.n, ` + lastPosition + ` WHERE new.finished_at IS NOT NULL;
END;
CREATE TRIGGER IF NOT EXISTS feed_pruned AFTER DELETE ON runs BEGIN
	UPDATE feeds SET lost = 1 WHERE lost = 0 AND cursor < (SELECT position FROM ended WHERE run = old.n);
	DELETE FROM ended WHERE run = old.n;
END;`
	dropNotingTriggers = `DROP TRIGGER IF EXISTS feed_created; DROP TRIGGER IF EXISTS feed_changed;`
	dropPrunedTrigger  = `DROP TRIGGER IF EXISTS feed_pruned;`

	commitsNeeded = `EXISTS (SELECT 1 FROM feeds WHERE lost = 0)`

	// The last position is kept, so that no position is used twice.
	lastPosition = `coalesce((SELECT max(position) FROM noted), 0)`
	// lastOf… is the number of a run's last event, from its tail: a line each, the first of which
	// has the number first.
	lastOfNew = `(new.first - 1 + (length(new.tail) > 0) * (1 + length(new.tail)
			- length(CAST(replace(CAST(new.tail AS TEXT), char(10), '') AS BLOB))))`
	lastOfOld = `(old.first - 1 + (length(old.tail) > 0) * (1 + length(old.tail)
			- length(CAST(replace(CAST(old.tail AS TEXT), char(10), '') AS BLOB))))`
	// changeOfNew is what change.append writes.
	changeOfNew = `new.n || ' ' || (` + lastOfOld + ` + 1) || ' ' || ` + lastOfNew
)

// change is a commit in the table noted: the run's row, and the numbers of the commit's events.
type change struct {
	run         int64
	first, last uint64
}

// append appends the change's text; line breaks separate several.
func (c change) append(text []byte) []byte {
	text = append(strconv.AppendInt(text, c.run, 10), ' ')
	text = append(strconv.AppendUint(text, c.first, 10), ' ')
	return strconv.AppendUint(text, c.last, 10)
}

func readChange(text string) (c change, rest string, _ error) {
	line, rest, _ := strings.Cut(text, "\n")
	run, events, _ := strings.Cut(line, " ")
	first, last, _ := strings.Cut(events, " ")
	row, err1 := strconv.ParseInt(run, 10, 64)
	from, err2 := strconv.ParseUint(first, 10, 63)
	to, err3 := strconv.ParseUint(last, 10, 63)
	return change{row, from, to}, rest, cmp.Or(err1, err2, err3)
}

type notedCommit struct {
	position int64
	change
}

type newCommit struct {
	notedCommit
	cache.CommitEvents
}

type feedState struct {
	needed bool  // a feed is not lost, so commits are recorded
	last   int64 // the last position
}

// feedState returns the cached state, which matches the file like the rest of the cache.
func (w *writer) feedState() (*feedState, error) {
	if w.cache.feeds == nil {
		r, err := w.one(`SELECT ` + commitsNeeded + `, ` + lastPosition)
		if err != nil {
			return nil, err
		}
		w.cache.feeds = &feedState{needed: r.int(0) != 0, last: r.int(1)}
	}
	return w.cache.feeds, nil
}

// resetFeedState follows a change of the feeds: the next commit reads their state from the file. It
// stores the commits recorded so far, because their last position is part of that state.
func (w *writer) resetFeedState() error {
	w.cache.feeds = nil
	return w.insertNoted()
}

// note records the commit of the run in this row, if it has events and a feed needs them.
func (w *writer) note(row int64, e *entry.Entry) (noted bool, _ error) {
	if len(e.Events) == 0 {
		return false, nil
	}
	n, err := w.feedState()
	if err != nil || !n.needed {
		return false, err
	}
	n.last++
	w.noted = append(w.noted, newCommit{notedCommit{n.last, change{row, e.FirstSeq(), e.Run.Seq}},
		cache.CommitEvents{RunID: e.Run.ID, Events: e.Events}})
	if e.Run.State.Terminal() {
		_, err = w.exec(`INSERT OR REPLACE INTO ended (run, position) VALUES (?, ?)`, row, n.last)
		w.countRow(0)
	}
	return err == nil, err
}

// insertNotedAlone stores the last recorded commit in a separate row, where the triggers expect it.
func (w *writer) insertNotedAlone() error {
	end := len(w.noted) - 1
	return errors.Join(w.insertNotedUntil(end), w.insertNotedUntil(end+1))
}

func (w *writer) insertNoted() error { return w.insertNotedUntil(len(w.noted)) }

// insertNotedUntil stores recorded commits up to this number, except stored ones.
func (w *writer) insertNotedUntil(end int) error {
	more := w.noted[w.notedStored:end]
	if len(more) == 0 {
		return nil
	}
	w.notedStored = end
	w.notedText = w.notedText[:0]
	for i := range more {
		if i > 0 {
			w.notedText = append(w.notedText, '\n')
		}
		w.notedText = more[i].append(w.notedText)
	}
	_, err := w.exec(`INSERT INTO noted (position, size, commits) VALUES (?, ?, ?)`, more[len(more)-1].position,
		int64(len(more)), string(w.notedText))
	w.countRow(len(w.notedText))
	return err
}

func (w *writer) keepNoted() {
	for i := range w.noted {
		w.recent.Put(w.noted[i].notedCommit, w.noted[i].CommitEvents)
	}
	clear(w.noted) // the events are the cache's now
}

// slotOfNew is the column slot of a new run: 0 if its commit is recorded.
func (w *writer) slotOfNew(e *entry.Entry) (driver.Value, error) {
	n, err := w.feedState()
	if err == nil && n.needed && len(e.Events) > 0 {
		return int64(0), nil
	}
	return nil, err
}

// unneededPart is how many rows deleteUnneeded deletes per transaction.
const unneededPart = 1000

// deleteAcknowledged deletes up to limit rows of commits that each feed has acknowledged, or is
// lost for. The last row stays, since it keeps the last position.
func (w *writer) deleteAcknowledged(limit int64) (deleted int64, _ error) {
	return w.exec(`DELETE FROM noted WHERE position IN (SELECT position FROM noted WHERE position < `+lastPosition+`
		AND position <= coalesce((SELECT min(cursor) FROM feeds WHERE lost = 0), 9223372036854775807)
		ORDER BY position LIMIT ? + 0)`, limit)
}

// deleteUnneeded deletes some rows that no feed needs, and reports whether there may be more. If
// all feeds are lost, it deletes everything for feeds, and last the trigger that deletes the rows
// of ended with their runs: a later run may get the number of the row.
func (w *writer) deleteUnneeded() (more bool, _ error) {
	n, err := w.feedState()
	if err == nil && !n.needed {
		err = w.conn.run(dropNotingTriggers)
	}
	if err != nil {
		return false, err
	}
	deleted, err := w.deleteAcknowledged(unneededPart)
	if err != nil || deleted == unneededPart || n.needed {
		return deleted == unneededPart, err
	}
	deleted, err = w.exec(`DELETE FROM ended WHERE run IN (SELECT run FROM ended LIMIT ? + 0)`, int64(unneededPart))
	if err != nil || deleted == unneededPart {
		return true, err
	}
	_, err = w.exec(`UPDATE noted SET size = 0, commits = '' WHERE size > 0`)
	return false, errors.Join(err, w.conn.run(dropPrunedTrigger))
}

// deleteUnneeded deletes rows that no feed needs, in small transactions that let others proceed.
func (s *Store) deleteUnneeded(ctx context.Context) error {
	for more := true; more; {
		err := s.write(ctx, maxBatch, func(w *writer) (_ []store.Hint, err error) {
			more, err = w.deleteUnneeded()
			return nil, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// feedNeedsRun is a condition on a row of runs: a feed has not acknowledged the run's last commit,
// and its lag still keeps the run. Its argument is the time before which runs are pruned.
const feedNeedsRun = `EXISTS (SELECT 1 FROM feeds WHERE lost = 0 AND runs.finished_at >= ? - max_lag
	AND cursor < (SELECT position FROM ended WHERE run = runs.n))`
