package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// witness remembers each run as it was last stored, and compares the next commit with the promises
// of the store. Only the scheduler calls it, while the world is quiescent.
type witness struct {
	world *world
	runs  map[string]*store.Run
	nodes map[string]bool
	used  map[string][]store.TurnUsage // of each run, in the order of the commits

	hidden  map[questionOf]*hidden // the questions that were asked hidden
	memos   map[questionOf]*memo   // the ledger of remembered decisions
	rulings map[ruleOf]int         // how often each rule has decided
}

// hold identifies a claim.
type hold struct {
	runID string
	epoch uint64
}

// commit stores a batch and checks the results.
func (w *world) commit(v *view, batch []store.Commit) []error {
	errs := w.store.Commit(w.ctx, batch)
	for i := range batch {
		c := &batch[i]
		key := write{v.name, c.Run.ID, c.Run.Version}
		if v.writes != "" && c.Run.ID != v.writes {
			w.fault(fmt.Sprintf("run %s: %s forks it, and has written it", c.Run.ID, v.name))
		}
		if errs[i] != nil {
			w.said += "refused: " + errs[i].Error() + " "
		}
		switch err := errs[i]; {
		case err == nil:
			if w.plan.rules.hides > 0 || w.plan.memory.lasts > 0 {
				w.witness.ruled(v, w.witness.runs[c.Run.ID], c)
			}
			w.witness.stored(c)
			if w.failed[key] {
				w.saw("a write that had failed was made again")
			}
		case errors.Is(err, store.ErrStaleEpoch):
			w.saw("a write under a lost lease or epoch was refused")
		case errors.Is(err, store.ErrConflict) && c.Fence != nil:
			w.saw("a worker's write met another version")
		case errors.Is(err, store.ErrConflict):
			w.saw("a race was lost by " + racer(c))
		}
	}
	w.witness.pools()
	return errs
}

// write identifies a commit. It is the same for each retry.
type write struct {
	who     string
	runID   string
	version uint64
}

// racer names the purpose of a commit by a client, or by a node that owns nothing.
func racer(c *store.Commit) string {
	switch {
	case len(c.Settled) == 0 && c.Run.State == fsm.StateWaitingUser && len(c.Events) == 1:
		e, err := fcmp.Decode(c.Events[0].Body)
		if err != nil {
			break
		}
		var changed fcmp.Changed
		if e.Type == fcmp.TypeChanged && e.Decode(&changed) == nil && changed.Change == "reassign" {
			return "somebody who puts a question to others"
		}
		return e.Type
	case len(c.Settled) == 0 && c.Run.State.Terminal():
		return "a cancel or a recovery"
	case len(c.Settled) == 0:
		return "a recovery"
	case c.Settled[0].Resolution == interaction.Abandoned:
		return "an end without an answer"
	case interaction.IsPolicy(c.Settled[0].Actor):
		return "a rule"
	case byItself(c.Settled[0].Actor):
		return "a remembered decision"
	}
	return string(c.Settled[0].Resolution)
}

// run reads a run for a process, which may need the outcome of a write.
func (w *world) run(v *view, id string) (store.Run, error) {
	r, err := w.store.Run(w.ctx, id)
	if err == nil {
		w.said = string(r.State) + " v" + strconv.FormatUint(r.Version, 10)
		if w.lost[write{v.name, id, r.Version}] {
			w.saw("a write whose acknowledgement was lost was found to have arrived")
		}
	}
	return w.names.run(r), err
}

// claim makes a claim and checks the runs that were started.
func (w *world) claim(req store.ClaimRequest) ([]store.Claimed, error) {
	claimed, err := w.store.Claim(w.ctx, req)
	for i := range claimed {
		c := &claimed[i]
		w.witness.compareRun(c.Run.ID, nil)
		if !slices.Contains(req.Engines, c.Run.Engine) {
			w.fault(fmt.Sprintf("run %s was claimed for %s, which has no engine %q but %v", c.Run.ID, req.Node,
				c.Run.Engine, req.Engines))
		}
		if c.Run.Epoch == 0 || !c.Run.Slot || c.Run.Owner != req.Node {
			w.fault(fmt.Sprintf("run %s was claimed for %s and is %s's under epoch %d", c.Run.ID, req.Node, c.Run.Owner,
				c.Run.Epoch))
		}
		w.unheard[hold{c.Run.ID, c.Run.Epoch}] = true // until the answer arrives
		w.claimed = append(w.claimed, hold{c.Run.ID, c.Run.Epoch})
		w.said += "starts " + c.Run.ID + " "
		c.Run = w.names.run(c.Run)
		if !req.Hinted {
			w.saw("a poll found what no hint told of")
		}
	}
	w.witness.pools()
	return claimed, err
}

func (w *world) join(v *view, n store.Node, now time.Time) error {
	n.Identity = "" // as if the process were on another machine
	w.mu.Lock()
	name := w.names.join(v.name, n.ID)
	w.mu.Unlock()
	if v.joins++; v.joins > 1 {
		w.saw("a node that had lost its lease joined again")
	}
	n.ID, w.said = name, "as "+name
	err := w.store.Join(w.ctx, n, now)
	if err == nil {
		w.witness.nodes[name] = true
	}
	return err
}

func (w *world) expire(now time.Time, ids []string) ([]store.Node, error) {
	gone, err := w.store.Expire(w.ctx, now, ids...)
	for i := range gone {
		delete(w.witness.nodes, gone[i].ID)
		w.witness.departed(gone[i].ID)
		w.said += "takes the lease of " + gone[i].ID + " "
		if len(ids) == 0 {
			w.saw("a lease ran out and was taken")
		}
		gone[i].ID = w.names.id(gone[i].ID)
	}
	return gone, err
}

// stored compares an accepted commit with the previous record.
func (x *witness) stored(c *store.Commit) {
	w, prev := x.world, x.runs[c.Run.ID]
	if f := c.Fence; f != nil {
		if prev == nil || prev.Owner != f.Node || prev.Epoch != f.Epoch || !x.nodes[f.Node] {
			w.fault(fmt.Sprintf("run %s: a write was accepted under %s/%d, which has no right to it", c.Run.ID, f.Node,
				f.Epoch))
		}
	}
	x.compareRun(c.Run.ID, c)
	if c.Usage != nil {
		x.spent(c)
	}
}

// departed reads the runs that were parked by a node that has just gone: they must be recovered
// without a write (J7).
func (x *witness) departed(node string) {
	w := x.world
	for id, prev := range x.runs {
		if !prev.Parked() || prev.Owner != node {
			continue
		}
		run, err := w.store.Run(w.ctx, id)
		if err != nil || run.Recovery != store.RecoveredWaiting || run.RecoveredAt.Before(prev.UpdatedAt) ||
			run.Version != prev.Version {
			w.fault(fmt.Sprintf("run %s was parked by %s, which is gone, and is read as %+v: %v", id, node, run, err))
			continue
		}
		x.runs[id] = &run
		w.saw("waiting_user → waiting_user: restart.preserve_waiting")
	}
}

// compareRun reads a run that was just written, and compares it with the commit.
func (x *witness) compareRun(id string, c *store.Commit) {
	w := x.world
	run, err := w.store.Run(w.ctx, id)
	if err != nil {
		w.fault(fmt.Sprintf("run %s was stored and cannot be read: %v", id, err))
		return
	}
	prev := x.runs[id]
	if prev == nil {
		prev = &store.Run{ID: id}
	}
	x.runs[id] = &run
	if why := follows(prev, &run, c); why != "" {
		w.fault(fmt.Sprintf("run %s, version %d: %s", id, run.Version, why))
	}
	if why := x.remembered(&run); why != "" {
		w.fault(fmt.Sprintf("run %s, version %d: %s", id, run.Version, why))
	}
	if why := coherent(&run); why != "" {
		w.fault(fmt.Sprintf("run %s, version %d: %s", id, run.Version, why))
	}
}

// follows explains why a record cannot be the next one of a run, or returns "".
func follows(prev, next *store.Run, c *store.Commit) string {
	switch {
	case next.Version != prev.Version+1:
		return fmt.Sprintf("it follows version %d", prev.Version)
	case prev.State.Terminal():
		return "it changes what had ended as " + string(prev.State)
	case next.Epoch < prev.Epoch:
		return fmt.Sprintf("epoch %d follows %d", next.Epoch, prev.Epoch)
	case next.Attempt < prev.Attempt || next.Attempt > prev.Attempt+1:
		return fmt.Sprintf("attempt %d follows %d", next.Attempt, prev.Attempt)
	case next.Attempt > prev.Attempt && next.Epoch == prev.Epoch:
		return fmt.Sprintf("attempt %d has the epoch of the one before", next.Attempt)
	case next.UpdatedAt.Before(prev.UpdatedAt):
		return "time went back"
	case next.RecoveredAt.Before(prev.RecoveredAt):
		return "it was recovered, and was not any more"
	case c != nil && next.Seq != prev.Seq+uint64(len(c.Events)):
		return fmt.Sprintf("it ends at event %d, %d of which are new, and the one before ended at %d", next.Seq,
			len(c.Events), prev.Seq)
	}
	return ""
}

// coherent explains how state, slot and question of a record contradict each other (I10); it
// returns "" if they do not.
func coherent(r *store.Run) string {
	waits := r.State == fsm.StateWaitingUser
	switch {
	case waits != (len(r.Open) > 0):
		return fmt.Sprintf("it is %s, and its question is %v", r.State, r.FirstOpen())
	case !waits && !r.Deadline.IsZero():
		return fmt.Sprintf("it is %s and has a deadline", r.State)
	case r.State == fsm.StateRunning && !r.Slot, r.State.Terminal() && r.Slot, waits &&
		r.Slot != (r.Profile == fsm.ProfileStickyProcess):
		return fmt.Sprintf("it is %s as %s, and that it holds a slot is %t", r.State, r.Profile, r.Slot)
	case (r.State == fsm.StateFailed) && r.Error == nil, r.State == fsm.StateSucceeded && r.Error != nil:
		return fmt.Sprintf("it is %s, and its error is %v", r.State, r.Error)
	}
	return ""
}

// pools counts the slots that runs hold, and compares the counts with the store's and with the
// capacities.
func (x *witness) pools() {
	w := x.world
	held, byKey := 0, make(map[string]int)
	for _, r := range x.runs {
		if r.Slot {
			held++
			byKey[r.Key]++
		}
	}
	all, err := w.store.Pools(w.ctx)
	if err != nil {
		w.fault(fmt.Sprintf("pools cannot be read: %v", err))
		return
	}
	for _, p := range all {
		if p.Held != held {
			w.fault(fmt.Sprintf("the pool says that %d slots are held, and runs hold %d", p.Held, held))
		}
		if held > p.Capacity {
			w.fault(fmt.Sprintf("%d slots are held, and there are %d", held, p.Capacity))
		}
		if held == p.Capacity {
			w.saw("every slot was held")
		}
		for key, n := range byKey {
			if key != "" && p.KeyCapacity > 0 && n > p.KeyCapacity {
				w.fault(fmt.Sprintf("key %s holds %d slots, and may hold %d", key, n, p.KeyCapacity))
			}
		}
	}
}
