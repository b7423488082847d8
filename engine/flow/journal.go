package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/schema"
)

// The types of journal entries.
const (
	typeStep   = "step"
	typeUndo   = "undo"
	typeAsk    = "ask"
	typeSleep  = "sleep"
	typeNow    = "now"
	typeID     = "id"
	typeRandom = "random"
	typeSay    = "say"
	typeVer    = "version"
	typeSpawn  = "spawn"
	typeEnd    = "end"
	typeAny    = "any"

	typeFailure = "failure"
)

// Calls without an entry.
const (
	typeAll   = "branches"
	typeEnded = "ended"
)

// nameless are the types of entries without a name.
var nameless = []string{typeSleep, typeNow, typeID, typeRandom, typeSay, typeAny, typeFailure}

// run is the data shared by the branches of a turn.
type run struct {
	id      string
	ctx     context.Context //nolint:containedctx // the turn's
	clock   engine.Clock
	sink    engine.Sink
	journal engine.Journal
	holds   bool // engine.Turn.Holds
	history engine.History

	artifacts string // engine.Turn.ArtifactDir

	inherited []engine.Record // of a fork
	open      openChildren
	undoing   bool // an earlier turn has begun to compensate: only compensations are executed

	mu      sync.Mutex               // guards the fields below
	kept    map[string]*kept         // the entries of the journal, by path
	answers map[string][]answered    // answers of this turn without a journal entry, by path
	pending []engine.JournalEntry    // entries to write with the next ones
	due     bool                     // pending must be written before the next effect
	asking  []*asking                // the questions that the turn asks at its end
	await   []awaiting               // the children for which the run waits after the turn
	usage   engine.Usage             // of the steps of this turn
	wake    time.Time                // when the run continues; zero: it does not sleep
	fatal   error                    // why no branch can continue in this turn
	failure error                    // why the run fails once the function has returned
	size    *interaction.JournalSize // of the journal and pending
	undos   int                      // the number of compensations that may be executed
	unread  int                      // the number of entries that still have their bodies
	tainted bool                     // a Ctx was misused: nothing more is stored
}

type kept struct {
	engine.JournalEntry

	seen    bool // the function has reached its place in this turn
	dropped bool // guarded by run.mu; the function has read it
}

// newRun reads the journal, and sorts the answers of the turn by their places.
func newRun(ctx context.Context, t engine.Turn, s engine.Sink) (*run, error) {
	journal, ok := s.(engine.Journal)
	if !ok {
		return nil, &engine.Failure{Code: engine.CodeEngineUnavailable, Err: engine.ErrNoJournal}
	}
	entries, err := journal.Entries(ctx)
	if errors.Is(err, engine.ErrNoJournal) {
		err = &engine.Failure{Code: engine.CodeEngineUnavailable, Err: err}
	}
	if err != nil {
		return nil, err
	}
	r := &run{id: t.RunID, ctx: ctx, clock: t.Clock, sink: s, journal: journal, holds: t.Holds, history: t.History,
		artifacts: t.ArtifactDir,
		inherited: t.Inherited,
		kept:      make(map[string]*kept, len(entries)), answers: make(map[string][]answered)}
	if r.clock == nil {
		r.clock = machineClock{}
	}
	for _, e := range entries {
		r.kept[e.Path] = &kept{JournalEntry: e}
	}
	if r.size, err = (*interaction.JournalSize)(nil).With(entries); err != nil {
		r.size = &interaction.JournalSize{Entries: engine.MaxJournalEntries, Bytes: engine.MaxJournalSize}
	}
	if err := r.readFailure(); err != nil {
		return nil, err
	}
	r.withhold(t.Withheld)
	for _, e := range r.kept {
		if !e.dropped {
			r.unread++
		}
	}
	for _, a := range t.Answers {
		place, err := readRef(a)
		if err != nil {
			return nil, err
		}
		if r.kept[place.path] == nil { // otherwise an earlier turn, which was lost, has stored the answer
			r.answers[place.path] = append(r.answers[place.path], place)
		}
	}
	return r, nil
}

// withhold removes the entries of questions whose answers a fork does not inherit: the function
// asks them again when it reaches their places. An answer that the fork itself got there is kept.
func (r *run) withhold(records []engine.Record) {
	for i := range records {
		given := records[i].Answer()
		place, err := readRef(given)
		if err != nil { // not asked by the function, so no entry has its answer
			continue
		}
		e := r.kept[place.path]
		var answers []engine.Answer
		if e == nil || e.Type != typeAsk || json.Unmarshal(e.Body, &answers) != nil {
			continue
		}
		if slices.ContainsFunc(answers, func(a engine.Answer) bool {
			return a.ID == given.ID && a.AcceptedAt.Equal(given.AcceptedAt)
		}) {
			delete(r.kept, place.path)
		}
	}
}

// lookUp decodes the journal's entry at a path. Found is false if no turn has reached this place.
// If the entry has a different kind, name or type than the code expects, the error holds the run.
func (c *Ctx) lookUp(path, kind, name string, into any) (found bool, _ error) {
	r := c.run
	r.mu.Lock()
	e, answers := r.kept[path], r.answers[path]
	if e != nil {
		e.seen = true
	}
	r.mu.Unlock()
	switch {
	case e == nil && answers != nil && (kind != typeAsk || answers[0].name != name):
		return false, c.holdAt(path, typeAsk, answers[0].name, kind, name)
	case e == nil && r.undoing && kind != typeUndo:
		return false, c.fail(r.failure)
	case e == nil:
		return false, c.checkPlace(path, kind, name)
	case e.Type != kind || e.Name != name:
		return false, c.holdAt(path, e.Type, e.Name, kind, name)
	}
	if err := decode(e.Body, into); err != nil && !isFailed(e.Body, into) {
		return false, c.stop(misfit("the journal has %s at %s, and the code expects another type there: %v",
			described(kind, name), path, err))
	}
	r.dropBody(e)
	return true, nil
}

// dropBody releases the memory of an entry that the function has read. Only versions, which are
// small, are read more than once. Once all entries are read, other turns may use the memory.
func (r *run) dropBody(e *kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.dropped {
		return
	}
	e.dropped = true
	if e.Type != typeVer {
		e.Body = nil
	}
	if r.unread--; r.unread == 0 {
		r.journal.Release()
	}
}

func (c *Ctx) holdAt(path, keptKind, keptName, kind, name string) error {
	return c.stop(misfit("the journal has %s at %s, and the code has %s there",
		described(keptKind, keptName), path, described(kind, name)))
}

func described(kind, name string) string {
	if name == "" {
		return kind
	}
	return fmt.Sprintf("%s %q", kind, name)
}

// checkLeft returns an error that holds the run if the function did not reach the places of all
// entries and answers. Failure is the function's own error; the error names both. Entries of
// compensations are checked only after these were executed (undone).
func (r *run) checkLeft(undone bool, failure error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fatal != nil {
		return nil
	}
	left := make(map[string]string)
	for path, e := range r.kept {
		if !e.seen && (undone || e.Type != typeUndo) {
			left[path] = described(e.Type, e.Name)
		}
	}
	for path, a := range r.answers {
		left[path] = described(typeAsk, a[0].name)
	}
	if len(left) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(left)), comparePaths)
	why := ""
	if failure != nil {
		why = ": " + failure.Error()
	}
	r.fatal = misfit("the journal has %s at %s, and the code ends before it%s", left[first], first, why)
	return r.fatal
}

// checkPlace fails the run if the journal could not store an entry of this name or path. It is
// called before anything is executed or asked there.
func (c *Ctx) checkPlace(path, kind, name string) error {
	switch {
	case name == "" && !slices.Contains(nameless, kind) || len(name) > maxName:
		return c.fail(failed(nil, "a %s needs a name of 1 to %d bytes, not %.200q", kind, maxName, name))
	case !utf8.ValidString(name) || strings.Contains(name, "\x00"):
		return c.fail(failed(nil, "the name of a %s must be UTF-8 without NUL, not %q", kind, name))
	case len(path) > engine.MaxJournalWord:
		return c.fail(failed(nil, "%s at %.80s… is nested too deeply in branches", described(kind, name), path))
	}
	return nil
}

// entryOf makes an entry, and reserves its room in the journal. It replaces the value by the one
// that later turns will decode, so that the function gets the same in each turn. If the value
// cannot be encoded and decoded, or does not fit, the run fails.
func entryOf[T any](c *Ctx, at place, v *T) (engine.JournalEntry, error) {
	e := engine.JournalEntry{Path: at.path, Name: at.name, Type: at.kind}
	var kept T
	var err error
	if e.Body, err = json.Marshal(v); err != nil {
		err = at.failed(err, "cannot be encoded as JSON")
	} else if err = decode(e.Body, &kept); err != nil {
		err = at.failed(err, "cannot be decoded from its JSON")
	} else if err = schema.ValidateFinite(e.Body); err != nil {
		err = at.failed(err, "cannot be read by others")
	}
	if r, ok := any(v).(failedResult); ok && err != nil && r.failure() != "" { // its value is irrelevant
		kept = *v
		e.Body, err = json.Marshal(onlyError{r.failure()})
	}
	if err != nil {
		return e, c.fail(err)
	}
	if err = c.run.reserve(&e); err != nil {
		return e, c.fail(at.failed(err, "cannot be stored"))
	}
	*v = kept
	return e, nil
}

func storeEntry[T any](c *Ctx, at place, v *T) error {
	e, err := entryOf(c, at, v)
	if err != nil {
		return err
	}
	return c.write(e)
}

// storeLater adds an entry to be written together with the next one, or with the turn's end, which
// saves a commit. If due is true, it is written before the next effect: the effect may depend on
// it, and must find the same value if it is executed again.
func storeLater[T any](c *Ctx, at place, v *T, due bool) error {
	e, err := entryOf(c, at, v)
	if err != nil {
		return err
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.run.pending = append(c.run.pending, e)
	c.run.due = c.run.due || due
	return nil
}

// writeDue writes the pending entries before an effect that may depend on them.
func (c *Ctx) writeDue() error {
	c.run.mu.Lock()
	due := c.run.due
	c.run.mu.Unlock()
	if !due {
		return nil
	}
	return c.write()
}

// writePending writes the pending entries. StepIn calls it before a transaction of the host, whose
// rollback would lose them.
func (c *Ctx) writePending() error {
	c.run.mu.Lock()
	pending := len(c.run.pending)
	c.run.mu.Unlock()
	if pending == 0 {
		return nil
	}
	return c.write()
}

func (c *Ctx) write(entries ...engine.JournalEntry) error {
	r := c.run
	r.mu.Lock()
	all := append(r.drainPending(), entries...)
	r.mu.Unlock()
	if r.untainted() != nil {
		return c.going()
	}
	err := r.journal.Append(r.ctx, all...)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, engine.ErrJournalFull):
		err = failed(err, "the function's results cannot be stored")
	}
	return c.endWith(err)
}

// comparePaths orders paths as a function reaches their places: 2 before 10, and 3.b1.1 after 3.
// The path of a compensation, u1, comes after all others.
func comparePaths(a, b string) int {
	for a != b {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if d := cmp.Or(cmp.Compare(order(x), order(y)), cmp.Compare(x, y)); d != 0 {
			return d
		}
	}
	return 0
}

// order returns the number in one part of a path. Compensations have higher numbers than all
// other parts.
func order(part string) int {
	number, _ := strconv.Atoi(strings.TrimLeft(part, "bu"))
	if strings.HasPrefix(part, "u") {
		number += math.MaxInt32
	}
	return number
}
