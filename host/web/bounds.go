package web

import (
	"net/http"
	"sync"
	"time"
)

// callers counts the use of the server by each person, so that no one person can use it up. It
// remembers the people with requests or streams, or with a change in this minute.
type callers struct {
	mu      sync.Mutex         // guards the fields below
	streams int                // of all people
	of      map[string]*person // by ID
	minute  time.Time          // the start of the minute in which changes are counted
}

type person struct{ requests, streams, changes, searches int }

// maxSearchesEach limits the searches of one person at once: each examines many records.
const maxSearchesEach = 2

// get returns the entry of a person, and a function that ends a use. The caller holds p.mu.
func (p *callers) get(id string) (*person, func(end func(*person))) {
	one := p.of[id]
	if one == nil {
		one = new(person)
		p.of[id] = one
	}
	return one, func(end func(*person)) {
		p.mu.Lock()
		defer p.mu.Unlock()
		end(one)
		p.drop(id, one)
	}
}

// drop forgets a person without any use. The caller holds p.mu.
func (p *callers) drop(id string, one *person) {
	if *one == (person{}) {
		delete(p.of, id)
	}
}

// countRequest counts one more request of the caller, or returns why it is refused. The count ends
// with c.response.left.
func (d *Server) countRequest(c *caller) *Problem {
	p := &d.people
	p.mu.Lock()
	defer p.mu.Unlock()
	one, leave := p.get(c.actor.ID)
	if one.requests >= d.opts.MaxRequestsEach {
		return tooMany("You have too many requests open. Wait for one, then repeat this one.")
	}
	one.requests++
	c.response.left = sync.OnceFunc(func() { leave(func(one *person) { one.requests-- }) })
	return nil
}

// countChange counts one more change by the caller in this minute, or returns why it is refused.
func (d *Server) countChange(c *caller) *Problem {
	p, now := &d.people, d.client.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if since := now.Sub(p.minute); since < 0 || since >= time.Minute {
		p.minute = now
		for id, one := range p.of {
			one.changes = 0
			p.drop(id, one)
		}
	}
	one, _ := p.get(c.actor.ID)
	if one.changes >= d.opts.MaxChangesEach {
		return tooMany("You have made too many changes in this minute. Repeat this one later.")
	}
	one.changes++
	return nil
}

// countSearch counts one more search of the caller, or returns why it is refused. The caller calls
// left at its end.
func (d *Server) countSearch(c *caller) (left func(), _ error) {
	p := &d.people
	p.mu.Lock()
	defer p.mu.Unlock()
	one, leave := p.get(c.actor.ID)
	if one.searches >= maxSearchesEach {
		return nil, newProblem(http.StatusTooManyRequests, "TOO_MANY_SEARCHES",
			"Two searches of yours are running. Wait for one, then repeat this one.")
	}
	one.searches++
	return func() { leave(func(one *person) { one.searches-- }) }, nil
}

func tooMany(detail string) *Problem {
	return newProblem(http.StatusTooManyRequests, "TOO_MANY", detail)
}

// countFollower counts the caller's request as a stream from now on, or returns why that is refused.
// The caller calls left at the stream's end.
func (d *Server) countFollower(c *caller) (left func(), fault *Problem) {
	if left, fault = d.countStream(c); fault == nil {
		c.response.left()
	}
	return left, fault
}

func (d *Server) countStream(c *caller) (left func(), _ *Problem) {
	if d.life.Err() != nil {
		return nil, newProblem(http.StatusServiceUnavailable, "SHUTTING_DOWN",
			"This server is shutting down. Connect again.")
	}
	p := &d.people
	p.mu.Lock()
	defer p.mu.Unlock()
	one, leave := p.get(c.actor.ID)
	switch {
	case one.streams >= d.opts.MaxFollowersEach:
		return nil, newProblem(http.StatusTooManyRequests, "TOO_MANY_FOLLOWERS", "You have too many streams open. "+
			"Close one, then connect again.")
	case p.streams >= d.opts.MaxFollowers:
		return nil, newProblem(http.StatusServiceUnavailable, "TOO_MANY_FOLLOWERS", "The server has too many streams "+
			"open. Try again later.")
	}
	p.streams++
	one.streams++
	return func() {
		leave(func(one *person) {
			p.streams--
			one.streams--
		})
	}, nil
}
