package flow_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
)

// M2: Version is 0 in a run that was past its place, also if an earlier turn was inside of the next
// place and stored nothing else; the returned value is stored.
func TestM2WhatVersionReturns(t *testing.T) {
	inside := func(c *flow.Ctx) error {
		return flow.All(c, func(c *flow.Ctx) error { _, err := flow.Ask[string](c, "q", ask("?")); return err })
	}
	slept := func(c *flow.Ctx) error {
		return flow.All(c, func(c *flow.Ctx) error { return c.Sleep(time.Nanosecond) },
			func(c *flow.Ctx) error { _, err := flow.Ask[string](c, "q", ask("?")); return err })
	}
	for name, next := range map[string]func(c *flow.Ctx) error{"an answer inside": inside, "an entry inside": slept} {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			o, err := d.turn(t, func(c *flow.Ctx, _ string) (string, error) { return "", next(c) })
			require.NoError(t, err)
			got := -1
			_, err = d.turn(t, func(c *flow.Ctx, _ string) (string, error) {
				got = flow.Version(c, "v", 3)
				return "", next(c)
			}, answersTo(o)...)
			require.NoError(t, err)
			require.Equal(t, 0, got)
		})
	}
}

// M2: Version of one name is one decision, also in a loop, wherever the change finds the run.
func TestM2VersionIsTheSameInALoop(t *testing.T) {
	loop := func(c *flow.Ctx, version func(newest int) int) (string, error) {
		var got []string
		for i := range 12 {
			if v := version(i + 3); v > 0 {
				got = append(got, strconv.Itoa(v))
			}
			if _, err := flow.Ask[string](c, "q", ask(strconv.Itoa(i))); err != nil {
				return "", err
			}
		}
		return strings.Join(got, ""), nil
	}
	play := func(d *desk, old int) (string, int) {
		o, turns := engine.Outcome{}, 0
		for ; !o.Done; turns++ {
			var err error
			o, err = d.turn(t, func(c *flow.Ctx, _ string) (string, error) {
				return loop(c, func(newest int) int {
					if turns < old {
						return 0
					}
					return flow.Version(c, "v", newest)
				})
			}, answersTo(o)...)
			require.NoError(t, err)
		}
		return o.FinalText, len(d.entries)
	}
	text, entries := play(&desk{}, 0)
	require.Equal(t, strings.Repeat("3", 12), text)
	require.Equal(t, 11+1, entries, "eleven answers, and one version")
	text, entries = play(&desk{}, 2)
	require.Empty(t, text, "the run was beyond the first place before the change")
	require.Equal(t, 11, entries)
}

// M2: place 10 is not inside of place 1.
func TestM2VersionLooksAtWholePlaces(t *testing.T) {
	d := &desk{entries: []engine.JournalEntry{{Path: "10", Type: "id", Body: []byte(`"x"`)}}}
	_, err := d.turn(t, func(c *flow.Ctx, _ string) (string, error) {
		require.Equal(t, 3, flow.Version(c, "v", 3))
		return "", engine.Later(time.Hour, "busy")
	})
	require.ErrorContains(t, err, "busy")
}

// M2: of several places that the function does not reach, the reason names the first in program
// order: 2 before 10, the inside of a place before the next place.
func TestM2TheFirstPlaceThatIsLeft(t *testing.T) {
	for _, order := range []string{"2 10", "3 3.b1.1", "3.b1.1 4", "3.b2.1 3.b10.1", "3.b1.2 3.b2.1", "9 u1",
		"1.b1.9 1.b1.10 1.b2.1", "v:a 1", "1 u1", "u2 u10", "1.b1.u1 2"} {
		paths := strings.Fields(order)
		for range 8 { // the journal is a map inside
			d := &desk{}
			for _, path := range paths {
				d.entries = append(d.entries, engine.JournalEntry{Path: path, Type: "step", Name: path,
					Body: json.RawMessage(`{"value":1}`)})
			}
			_, err := d.turn(t, func(*flow.Ctx, string) (string, error) { return "", nil })
			require.ErrorContains(t, err, "at "+paths[0]+", and the code ends before it")
		}
	}
}
