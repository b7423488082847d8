package store_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// The cases "refusal" of storetest test the forbidden commits on every store. This file tests what
// only the caller of these methods sees.

// queued is a record in the queue, and follow a commit on it with one event.
func queued() store.Run {
	return store.Run{
		ID: "a", Version: 1, Pool: "p", State: fsm.StateQueued, CreatedAt: noon, UpdatedAt: noon, QueuedAt: noon,
		Seq: 1, Recovery: store.RecoveryNone,
	}
}

func follow(r store.Run, change func(*store.Run)) store.Commit {
	expect := r.Version
	r.Version++
	r.Seq++
	change(&r)
	return store.Commit{Run: r, Expect: expect, Events: []store.Event{{Seq: r.Seq, Body: []byte("{}")}}}
}

// validated returns the error of a commit on prev.
func validated(c *store.Commit, prev *store.Run, claim bool) error {
	if err := c.Validate(); err != nil {
		return err
	}
	return c.ValidateNext(prev, claim)
}

func running(r *store.Run) {
	r.State, r.Slot, r.Owner = fsm.StateRunning, true, "n"
	r.Epoch++
	r.Attempt++
}

// Section D, D5: only a claim gives a run a slot.
func TestCommitCannotTakeSlot(t *testing.T) {
	prev := queued()
	c := follow(prev, running)
	require.NoError(t, c.Validate(), "by itself the commit is good")
	require.ErrorIs(t, validated(&c, &prev, false), store.ErrInvalid)
	require.NoError(t, validated(&c, &prev, true))

	given := prev.Claim("n")
	require.Equal(t, "n", given.Owner)
	require.True(t, given.Slot)
	require.EqualValues(t, 1, given.Epoch)
	require.NoError(t, c.ValidateClaim(&given, &prev))
	other := given
	other.Owner = "m"
	require.ErrorIs(t, c.ValidateClaim(&other, &prev), store.ErrInvalid)
	ends := follow(prev, func(r *store.Run) {
		r.State, r.FinishedAt = fsm.StateFailed, noon
		r.Epoch++
	})
	require.NoError(t, ends.ValidateClaim(&given, &prev), "a claim may find that the run must end")
}

// A store in SQL checks a commit before it reads the stored record.
func TestValidateNeedsNoPreviousRecord(t *testing.T) {
	created := store.Commit{Run: queued(), Spec: []byte("s"), Events: []store.Event{{Seq: 1, Body: []byte("{}")}}}
	require.NoError(t, created.Validate())
	c := follow(queued(), func(r *store.Run) { r.State = "paused" })
	require.ErrorIs(t, c.Validate(), store.ErrInvalid)
}

// The error names the run and its fault.
func TestValidateNamesWrongField(t *testing.T) {
	prev := queued()
	c := follow(prev, func(r *store.Run) { r.Pool = "other" })
	err := validated(&c, &prev, false)
	require.ErrorContains(t, err, "run a in state queued: the submitted specification cannot change")
}

func TestClaimRequestValidateBoundsRequest(t *testing.T) {
	good := store.ClaimRequest{Node: "n", Max: store.MaxBatch, Start: func(store.Run, []byte) (store.Commit, error) {
		return store.Commit{}, nil
	}}
	require.NoError(t, good.Validate())
	good.Max++
	require.ErrorIs(t, good.Validate(), store.ErrInvalid)
}

// Validate refuses each text of a record and of a settled interaction that is not UTF-8: a store
// that keeps JSON would return another text.
func TestValidateRefusesInvalidUTF8(t *testing.T) {
	refused := func(path string, c store.Commit) {
		err := c.Validate()
		require.ErrorIs(t, err, store.ErrInvalid, path)
		require.ErrorContains(t, err, "UTF-8", path)
	}
	looked := 0
	whole := follow(parked(), func(*store.Run) {})
	require.NoError(t, whole.Validate())
	eachText(reflect.ValueOf(&whole.Run).Elem(), "run", func(path string, spoil, mend func()) {
		if path == "run.State" { // which is not a state then
			return
		}
		spoil()
		refused(path, whole)
		mend()
		looked++
	})
	settling := follow(parked(), func(r *store.Run) {
		r.State, r.Slot, r.QueuedAt, r.Open, r.Deadline = fsm.StateQueued, false, noon, nil, time.Time{}
	})
	settling.Settled = []interaction.Record{{
		Question: parked().Open[0], Resolution: interaction.UserReply, Response: "r", Actor: "a", ResolvedAt: noon,
		AutoDecideReason: "d", Key: "k", Digest: "g",
	}}
	require.NoError(t, settling.Validate())
	eachText(reflect.ValueOf(&settling.Settled[0]).Elem(), "settled", func(path string, spoil, mend func()) {
		spoil()
		refused(path, settling)
		mend()
		looked++
	})
	require.Greater(t, looked, 40, "the texts were found")
}

// eachText visits every text in v, except in raw JSON.
func eachText(v reflect.Value, path string, visit func(path string, spoil, mend func())) {
	switch v.Kind() {
	case reflect.String:
		whole := v.String()
		visit(path, func() { v.SetString(whole + "\xff") }, func() { v.SetString(whole) })
	case reflect.Pointer:
		if !v.IsNil() {
			eachText(v.Elem(), path, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachText(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachText(v.Index(i), path, visit)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String {
			for _, spoiled := range [][2]string{{"\xff", "a"}, {"a", "\xff"}} {
				key := reflect.ValueOf(spoiled[0])
				visit(path, func() {
					v.SetMapIndex(key, reflect.ValueOf(spoiled[1]))
				}, func() { v.SetMapIndex(key, reflect.Value{}) })
			}
		}
	}
}
