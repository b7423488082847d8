package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// outside reads the harms that another program does to the server. That program announces them on
// standard input, one per line, and closes it after the last:
//
//	long 4        submit four runs with a turn of 100 s each
//	begin NAME    a harm begins
//	promoted      a standby was promoted
//	end           the server is as before
type outside struct {
	server *server
	load   *load
	rate   float64
	over   atomic.Bool

	allowed float64   // how many runs may be submitted; used by the load only
	asked   time.Time // when the load last asked; used by the load only

	mu        sync.Mutex
	incidents []incident // guarded by mu
}

// incident is a harm by another program, with its effect on people and long turns.
type incident struct {
	Name    string `json:"name"`
	PauseMS int64  `json:"pause_ms"`           // the longest time between two acknowledged replies
	AfterMS int64  `json:"after_ms,omitempty"` // from the promotion to the next acknowledged reply
	// Turns counts the long turns that were running when it began, and Interrupted the interrupted ones.
	Turns       int `json:"turns"`
	Interrupted int `json:"interrupted"`

	from, promoted, to time.Time
}

func newOutside(s *server, l *load, rate float64) *outside {
	o := &outside{server: s, load: l, rate: rate, asked: time.Now()}
	l.ended = o.over.Load
	return o
}

// share lets the load submit its rate. A load that was held up does not catch up.
func (o *outside) share() float64 {
	now := time.Now()
	o.allowed += o.rate * min(1, now.Sub(o.asked).Seconds())
	o.asked = now
	return o.allowed / float64(o.load.runs)
}

// run reads the announcements until their end.
func (o *outside) run(ctx context.Context, in io.Reader) error {
	defer o.over.Store(true)
	lines, failed := make(chan string), make(chan error, 1)
	go func() { // ends with the input, or with this program
		defer close(lines)
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
		failed <- scanner.Err()
	}()
	var work sync.WaitGroup
	defer work.Wait()
	for n := 0; ; {
		select {
		case line, open := <-lines:
			if !open {
				return <-failed
			}
			word, rest, _ := strings.Cut(line, " ")
			if word == "long" {
				count, err := strconv.Atoi(rest)
				if err != nil {
					return fmt.Errorf("announcement %q: %w", line, err)
				}
				for range count {
					p := longPlan(n)
					work.Go(func() { o.load.submit(ctx, p, &work) })
					n++
				}
			} else if err := o.announced(word, rest); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// announced records the beginning, the promotion or the end of a harm.
func (o *outside) announced(word, rest string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.server.mu.Lock()
	defer o.server.mu.Unlock()
	now := time.Now()
	if word == "begin" {
		o.incidents = append(o.incidents, incident{Name: rest, from: now})
		o.server.away = append(o.server.away, span{from: now})
		return nil
	}
	if len(o.incidents) == 0 {
		return fmt.Errorf("announcement %q before any harm", word)
	}
	last := &o.incidents[len(o.incidents)-1]
	switch word {
	case "promoted":
		last.promoted = now
	case "end":
		last.to = now
		o.server.away[len(o.server.away)-1].to = now
	default:
		return fmt.Errorf("unknown announcement %q", word)
	}
	return nil
}

// judge completes the incidents.
func (o *outside) judge(l *ledger, s *sheet) []incident {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.mu.Lock()
	acks := slices.SortedFunc(slices.Values(l.acks), time.Time.Compare)
	l.mu.Unlock()
	for n := range o.incidents {
		i := &o.incidents[n]
		before := i.from
		for _, at := range acks {
			if at.After(i.from) && (i.to.IsZero() || before.Before(i.to)) {
				i.PauseMS = max(i.PauseMS, at.Sub(before).Milliseconds())
			}
			if i.AfterMS == 0 && !i.promoted.IsZero() && at.After(i.promoted) {
				i.AfterMS = max(1, at.Sub(i.promoted).Milliseconds())
			}
			before = at
		}
		i.Turns, i.Interrupted = s.longTurns(i.from)
	}
	return slices.Clone(o.incidents)
}

// longTurns counts the long turns running at a time, and how many of them were interrupted.
func (s *sheet) longTurns(at time.Time) (running, interruptions int) {
	for run, begins := range s.begins {
		first := begins[1]
		if !strings.HasPrefix(run, longPrefix) || len(first) == 0 || first[0].At.After(at) {
			continue
		}
		ends := s.ends[run][1]
		if len(ends) > 0 && !ends[0].At.After(at) {
			continue
		}
		running++
		if len(ends) == 0 || len(begins) > 1 || ends[0].Outcome == interrupted {
			interruptions++
		}
	}
	return running, interruptions
}

func (i incident) String() string {
	text := fmt.Sprintf("no acknowledged reply for %s", time.Duration(i.PauseMS)*time.Millisecond)
	if i.AfterMS > 0 {
		text += fmt.Sprintf("; the first %s after the promotion", time.Duration(i.AfterMS)*time.Millisecond)
	}
	if i.Turns > 0 {
		text += fmt.Sprintf("; %d of %d long turns interrupted", i.Interrupted, i.Turns)
	}
	return text
}
