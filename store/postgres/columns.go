package postgres

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
)

// columns are entry.Columns for the driver; nil is NULL.
type columns struct {
	queuedAt, delayedUntil, askedAt, deadline, finishedAt *int64
	ready                                                 bool
	owner                                                 *string
	// engine is set for a queued run without a slot, which is ready unless delayed.
	engine []byte
}

func columnsOf(r *store.Run) columns {
	c := entry.ColumnsOf(r)
	columns := columns{
		queuedAt: timeColumn(c.QueuedAt), delayedUntil: timeColumn(c.DelayedUntil), askedAt: timeColumn(c.AskedAt),
		deadline: timeColumn(c.Deadline), finishedAt: timeColumn(c.FinishedAt), ready: c.Ready,
	}
	if r.Owner != "" {
		columns.owner = &r.Owner
	}
	if r.State == fsm.StateQueued && !r.Slot {
		columns.engine = []byte(entry.EngineColumn(r))
	}
	return columns
}

func timeColumn(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMicro()
	return &n
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// bytesColumn is a text for a bytea column, which takes any byte; NULL if empty.
func bytesColumn(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// bytesArray is a list of texts as bytes; NULL for nil, an empty array for an empty list.
func bytesArray(texts []string) [][]byte {
	if texts == nil {
		return nil
	}
	all := make([][]byte, len(texts))
	for i, t := range texts {
		all[i] = []byte(t)
	}
	return all
}

// arrayText is bytesArray in PostgreSQL's array notation, which is faster to send. Nil is an empty
// array.
func arrayText(texts []string) string {
	text := []byte{'{'}
	for i, t := range texts {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(hex.AppendEncode(append(text, `"\\x`...), []byte(t)), '"')
	}
	return string(append(text, '}'))
}

func labelsOf(r *store.Run) []string {
	forkedFrom := ""
	if r.ForkedFrom != nil {
		forkedFrom = r.ForkedFrom.RunID
	}
	return labelTexts(r.Labels, forkedFrom, r.Parent())
}

// labelTexts returns a run's labels in an indexable form, whatever their characters. A fork has an
// extra one for its source, a child for its parent, with unquoted names, so they differ from every
// label.
func labelTexts(labels map[string]string, forkedFrom, parent string) []string {
	if len(labels) == 0 && forkedFrom == "" && parent == "" {
		return nil
	}
	all := make([]string, 0, len(labels)+2)
	if parent != "" {
		all = append(all, "parent="+strconv.QuoteToASCII(parent))
	}
	if forkedFrom != "" {
		all = append(all, "forked_from="+strconv.QuoteToASCII(forkedFrom))
	}
	for k, v := range labels {
		all = append(all, strconv.QuoteToASCII(k)+"="+strconv.QuoteToASCII(v))
	}
	slices.Sort(all)
	return all
}

// labelsArray is labelTexts in array notation, since the statement takes an array of these; NULL
// without labels.
func labelsArray(all []string) *string {
	if all == nil {
		return nil
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	text := `{"` + escape.Replace(all[0])
	for _, l := range all[1:] {
		text += `","` + escape.Replace(l)
	}
	text += `"}`
	return &text
}
