package rehearsal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// play is a case in its bubble.
type play struct {
	*testing.T
	Case

	how     course
	began   time.Time
	below   store.Store // the host's store, as it was opened
	host    *host
	commits int                 // of hosts that have ended
	crashed int                 // hosts that have crashed
	looks   map[asked]time.Time // when people look at a question next
}

// asked identifies a question.
type asked struct {
	run    string
	number int
}

const nextScan = time.Hour

// newPlay starts the first host.
func newPlay(t *testing.T, c Case, how course) *play {
	t.Helper()
	p := &play{T: t, Case: c, how: how, began: time.Now(), looks: make(map[asked]time.Time)}
	if p.Spec.ID == "" {
		p.Spec.ID = "rehearsal"
	}
	if p.Open == nil {
		p.below = memory.New()
	}
	p.start("")
	return p
}

// start opens the store and starts a host on it. It removes a crashed host's node first, so that
// the new host need not wait until that node's lease ends.
func (p *play) start(crashed string) {
	p.Helper()
	if p.Open != nil {
		var err error
		if p.below, err = p.Open(p.Context()); err != nil {
			p.Fatalf("open: %v", err)
		}
	}
	if crashed != "" {
		if _, err := p.below.Expire(p.Context(), time.Now(), crashed); err != nil {
			p.Errorf("the node of the crashed host: %v", err)
		}
	}
	p.host = startHost(p.T, p.Config, p.below, p.how.nextCrash())
}

func (p *play) end() {
	p.Helper()
	if p.host == nil {
		return // the next one could not be started
	}
	p.host.end()
	p.commits += p.host.view.counted()
	p.host = nil
	if p.Open == nil {
		return
	}
	if err := p.below.Close(); err != nil {
		p.Errorf("close: %v", err)
	}
}

// toEnd plays the case, and returns the ended run and the number of commits.
func (p *play) toEnd() (run lifecycle.Run, commits int) {
	p.Helper()
	defer func() { // Check may end the test
		p.end()
		commits = p.commits
	}()
	run, ended := p.moveToEnd()
	if ended && !p.Failed() {
		late := time.Duration(p.crashed) * recovery
		if err := checkStory(p.Story, run.CreatedAt, late, p.host.Events(p.Context(), run.ID, 0)); err != nil {
			p.Errorf("%v", err)
		}
	}
	if ended && p.Check != nil && !p.Failed() {
		p.Check(p.T, run)
	}
	return run, 0
}

func (p *play) moveToEnd() (run lifecycle.Run, ended bool) {
	p.Helper()
	for range mostTurns {
		synctest.Wait()
		if p.host.view.isDead() {
			crashed := p.host.view.joined()
			p.crashed++
			p.end()
			p.start(crashed)
			continue
		}
		if run, ended = p.moveOn(); ended || p.Failed() {
			return run, ended
		}
		if time.Since(p.began) > longest {
			break
		}
		p.host.idle(p.nextScan())
	}
	p.Errorf("the run does not come to an end; it is %s after %s: %+v", run.State, time.Since(p.began), run.Block)
	return run, false
}

// moveOn submits the run unless it exists, and lets people reply.
func (p *play) moveOn() (run lifecycle.Run, ended bool) {
	p.Helper()
	run, err := p.host.Get(p.Context(), p.Spec.ID)
	if errors.Is(err, lifecycle.ErrNotFound) {
		run, err = p.host.Submit(p.Context(), p.Spec)
	}
	switch {
	case errors.Is(err, errCrashed):
		return run, false
	case err != nil:
		p.Errorf("submit: %v", err)
		return run, false
	case run.State.Terminal():
		return run, true
	case run.Block != nil && run.Block.Kind == lifecycle.BlockHeld && run.Block.Until.IsZero():
		p.Errorf("the run is held until a person decides: %s", run.Block.Reason)
		return run, false
	}
	p.lookAtQuestions()
	return run, false
}

func (p *play) lookAtQuestions() {
	p.Helper()
	known := p.looks
	p.looks = make(map[asked]time.Time, len(known))
	q := store.WaitingQuery{Query: store.Query{Limit: store.MaxBatch}}
	for more := true; more; more = q.After != "" {
		page, err := p.below.Waiting(p.Context(), q)
		if err != nil {
			p.Errorf("questions: %v", err)
			return
		}
		for i := range page.Runs {
			p.lookAt(&page.Runs[i], known)
		}
		q.After = page.Next
	}
}

func (p *play) lookAt(run *lifecycle.Run, known map[asked]time.Time) {
	p.Helper()
	if p.Reply == nil && len(p.People) == 0 {
		return
	}
	now := time.Now()
	for _, q := range run.Open {
		id := asked{run.ID, q.ID}
		look, ok := known[id]
		switch {
		case !ok:
			look = now.Add(p.how.firstLook())
		case !look.After(now) && p.reply(run.ID, q):
			look = now.Add(nextScan)
		}
		p.looks[id] = look
	}
}

// reply has people reply to a question, or leave it open. It returns false if the host crashed.
func (p *play) reply(run string, q lifecycle.Question) bool {
	p.Helper()
	for i := range p.People {
		if !p.actsOn(&p.People[i], run, q.ID) {
			return false
		}
	}
	if p.Reply == nil {
		return true
	}
	r := p.Reply(q)
	if isNone(r) {
		return true
	}
	r.ID, r.Key = q.ID, replyKey(q.ID, r.Actor.ID)
	_, err := p.host.Reply(p.Context(), run, r)
	return p.accepts("reply to question", q.ID, err)
}

// replyKey returns a key per question and person, since several people may decide one approval. A
// hash keeps long ids within interaction.MaxKey.
func replyKey(question int, person string) string {
	return fmt.Sprintf("rehearsal-%d-%x", question, sha256.Sum256([]byte(person)))
}

// nextScan returns when people next look at a question, or the end of the play.
func (p *play) nextScan() time.Time {
	next := p.began.Add(longest + time.Second)
	for _, look := range p.looks {
		if look.Before(next) {
			next = look
		}
	}
	return next
}
