package sqlite

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/store/internal/cache"
	"github.com/interlude-go/interlude/store/internal/entry"
)

// While a feed exists, triggers note the commits of releases without feeds, which do not know of
// them. This release notes its commits itself, one row for all of a transaction: a row for each, or a
// trigger that counts events, would cost more than the rest of a commit. Its statements are written so
// that the triggers rarely fire. It creates a run with 0 in the column "slot", where earlier releases
// leave NULL; both mean no slot. Its updates set the column "first" only if the value changes, while
// those of earlier releases always set it. When the trigger fires for such an update, it finds that the
// commit was noted just before.
// When a run is deleted, the feeds that have not acknowledged its last commit are lost.
const (
	makeTriggers = `CREATE TRIGGER IF NOT EXISTS feed_created AFTER INSERT ON runs WHEN new.slot IS NULL BEGIN
	INSERT OR ROLLBACK INTO noted (position, size, commits)
		SELECT ` + lastPosition + ` + 1, 1, new.n || ' 1 ' || ` + lastOfNew + ` WHERE ` + lastOfNew + ` > 0;
END;
CREATE TRIGGER IF NOT EXISTS feed_changed AFTER UPDATE OF first ON runs
	WHEN ` + lastOfNew + ` > ` + lastOfOld + ` AND NOT EXISTS (SELECT 1 FROM noted
		WHERE position = ` + lastPosition + ` AND commits = ` + changeOfNew + `) BEGIN
	INSERT OR ROLLBACK INTO noted (position, size, commits) SELECT ` + lastPosition + ` + 1, 1, ` + changeOfNew + `;
	INSERT OR REPLACE INTO ended (run, position) SELECT new.n, ` + lastPosition + ` WHERE new.finished_at IS NOT NULL;
END;
CREATE TRIGGER IF NOT EXISTS feed_pruned AFTER DELETE ON runs BEGIN
	UPDATE feeds SET lost = 1 WHERE lost = 0 AND cursor < (SELECT position FROM ended WHERE run = old.n);
	DELETE FROM ended WHERE run = old.n;
END;`
	dropTriggers = `DROP TRIGGER IF EXISTS feed_created; DROP TRIGGER IF EXISTS feed_changed;
DROP TRIGGER IF EXISTS feed_pruned;`

	// The last position is never forgotten, so that no position is used twice.
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

// change is a commit as the table noted has it: the number of the run's row, and the numbers of the
// commit's events.
type change struct {
	run         int64
	first, last uint64
}

// append appends the text of a change, with which the text of others is joined by line breaks.
func (c change) append(text []byte) []byte {
	text = append(strconv.AppendInt(text, c.run, 10), ' ')
	text = append(strconv.AppendUint(text, c.first, 10), ' ')
	return strconv.AppendUint(text, c.last, 10)
}

// readChange reads the first change of a text, and returns the text of the others.
func readChange(text string) (c change, rest string, _ error) {
	line, rest, _ := strings.Cut(text, "\n")
	run, events, _ := strings.Cut(line, " ")
	first, last, _ := strings.Cut(events, " ")
	row, err1 := strconv.ParseInt(run, 10, 64)
	from, err2 := strconv.ParseUint(first, 10, 63)
	to, err3 := strconv.ParseUint(last, 10, 63)
	return change{row, from, to}, rest, cmp.Or(err1, err2, err3)
}

// notedCommit is a commit that is noted. No position is used twice, so that no other one is like it.
type notedCommit struct {
	position int64
	change
}

// newCommit is a commit that a transaction has noted, with its events.
type newCommit struct {
	notedCommit
	cache.Commit
}

// notes is what a transaction knows of the feeds: whether it notes commits, and the last position.
type notes struct {
	needed bool
	last   int64
}

// notes returns them for the transaction. Like everything in the cache they are those of the file:
// the cache is emptied when somebody else has written to it.
func (w *writer) notes() (*notes, error) {
	if w.cache.notes == nil {
		r, err := w.one(`SELECT EXISTS (SELECT 1 FROM feeds WHERE lost = 0), ` + lastPosition)
		if err != nil {
			return nil, err
		}
		w.cache.notes = &notes{needed: r.int(0) != 0, last: r.int(1)}
	}
	return w.cache.notes, nil
}

// forgetNotes lets the next commit read the notes anew, after a change of the feeds.
func (w *writer) forgetNotes() error {
	w.cache.notes = nil
	return w.insertNoted()
}

// note notes a commit of the run in the row, if a feed needs it.
func (w *writer) note(row int64, e *entry.Entry) (noted bool, _ error) {
	if len(e.Events) == 0 {
		return false, nil
	}
	n, err := w.notes()
	if err != nil || !n.needed {
		return false, err
	}
	n.last++
	w.noted = append(w.noted, newCommit{notedCommit{n.last, change{row, e.FirstSeq(), e.Run.Seq}},
		cache.Commit{RunID: e.Run.ID, Events: e.Events}})
	if e.Run.State.Terminal() {
		_, err = w.exec(`INSERT OR REPLACE INTO ended (run, position) VALUES (?, ?)`, row, n.last)
		w.countRow(0)
	}
	return err == nil, err
}

// insertNotedAlone stores the last commit that was noted in a row of its own, where the triggers look
// for it.
func (w *writer) insertNotedAlone() error {
	end := len(w.noted) - 1
	return errors.Join(w.insertNotedUntil(end), w.insertNotedUntil(end+1))
}

// insertNoted stores what the transaction has noted so far.
func (w *writer) insertNoted() error { return w.insertNotedUntil(len(w.noted)) }

// insertNotedUntil stores so many of the commits that the transaction has noted, but for those that
// are stored.
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

// keepNoted keeps the events of what the transaction has noted, once that is stored.
func (w *writer) keepNoted() {
	for i := range w.noted {
		w.recent.Put(w.noted[i].notedCommit, w.noted[i].Commit)
	}
	clear(w.noted) // the events are the cache's now
}

// slotOfNew is what the column slot of a run has that is created: 0 if its commit is noted.
func (w *writer) slotOfNew(e *entry.Entry) (driver.Value, error) {
	n, err := w.notes()
	if err == nil && n.needed && len(e.Events) > 0 {
		return int64(0), nil
	}
	return nil, err
}

// forgetNoted deletes what every feed has acknowledged, but for the last position.
func (w *writer) forgetNoted() error {
	_, err := w.exec(`DELETE FROM noted WHERE position <= coalesce((SELECT min(cursor) FROM feeds WHERE lost = 0),
		9223372036854775807) AND position < ` + lastPosition)
	return err
}

// pruneWaits is a condition on a row of runs: a feed needs the run that is to be pruned. It takes
// the time before which runs are pruned.
const pruneWaits = `EXISTS (SELECT 1 FROM feeds WHERE lost = 0 AND runs.finished_at >= ? - max_lag
	AND cursor < (SELECT position FROM ended WHERE run = runs.n))`
