package postgres

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// columns are those of states that stand for what the record says; nil is NULL, and in no partial
// index.
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

// bytesOf is NULL for no key.
func bytesOf(key string) []byte {
	if key == "" {
		return nil
	}
	return []byte(key)
}

// manyBytes is NULL for nil, and an empty array for an empty list.
func manyBytes(texts []string) [][]byte {
	if texts == nil {
		return nil
	}
	all := make([][]byte, len(texts))
	for i, t := range texts {
		all[i] = []byte(t)
	}
	return all
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

// labelsText is labelsOf as PostgreSQL writes an array, for an array of them; NULL when there are
// none.
func labelsText(labels map[string]string) *string {
	all := labelsOf(labels)
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
