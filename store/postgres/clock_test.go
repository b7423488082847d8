package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Now is the last reading of the server's clock plus the time that has passed since, whatever
// this machine's clock says.
func TestNowIsServersTime(t *testing.T) {
	here := time.Now() // with its monotonic reading, by which time passes here
	server := here.Add(-time.Hour)
	s := clockReading{server: server.UTC(), here: here, uncertainty: time.Millisecond}
	require.Equal(t, server.Add(5*time.Second).UTC(), s.at(here.Add(5*time.Second)))

	var k Store
	k.clock.reading.Store(&s)
	first := k.Now()
	require.WithinDuration(t, time.Now().Add(-time.Hour), first, time.Second)
	require.Equal(t, time.UTC, first.Location())
	require.False(t, k.Now().Before(first))
}

// A new reading of the clock replaces the last one when it is more certain, or when it
// contradicts it. The last one grows less certain as time passes.
func TestClockReadingKeepsMoreCertain(t *testing.T) {
	here := time.Now()
	last := clockReading{server: here, here: here, uncertainty: 2 * time.Millisecond}
	after := func(d, off, uncertainty time.Duration) clockReading {
		return clockReading{server: here.Add(d + off), here: here.Add(d), uncertainty: uncertainty}
	}
	for name, c := range map[string]struct {
		next  clockReading
		count bool
	}{
		"surer":                        {after(time.Minute, time.Millisecond, time.Millisecond), true},
		"as sure as before":            {after(time.Minute, 0, 2*time.Millisecond), true},
		"less sure, and agreeing":      {after(time.Minute, 100*time.Millisecond, 200*time.Millisecond), false},
		"less sure, an hour later":     {after(time.Hour, 100*time.Millisecond, 200*time.Millisecond), true},
		"the server's clock was set":   {after(time.Minute, -time.Hour, 200*time.Millisecond), true},
		"this machine was asleep":      {after(time.Minute, 8*time.Hour, time.Second), true},
		"a slow look at a quick clock": {after(time.Minute, 300*time.Millisecond, 200*time.Millisecond), true},
	} {
		require.Equal(t, c.count, last.replacedBy(c.next), name)
	}
}
