package process_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
)

// slowRelease is a resident process that exited, and whose release blocks until End is called.
type slowRelease struct {
	gone, releasing, ended chan struct{}
	released               bool
}

func (p *slowRelease) Running() bool          { return false }
func (p *slowRelease) Ended() <-chan struct{} { return p.gone }
func (p *slowRelease) Err() error             { return nil }
func (p *slowRelease) End()                   { close(p.ended) }

func (p *slowRelease) Release() {
	close(p.releasing)
	<-p.ended
	p.released = true
}

// I6: Close during the release of an exited process returns after the release of its record and
// files.
func TestCloseWaitsForAReleaseUnderWay(t *testing.T) {
	p := &slowRelease{gone: make(chan struct{}), releasing: make(chan struct{}), ended: make(chan struct{})}
	residents := process.NewResidents[*slowRelease]("scripted")
	residents.Add("r1", p)
	close(p.gone)
	go residents.Acquire("r1") // finds that it has ended
	<-p.releasing
	residents.Close()
	require.True(t, p.released)
	require.Nil(t, residents.Acquire("r1"))
}
