package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// The records of one round trip as they are stored: in the queue, waiting for a person, in the
// queue again with the answer, finished.

func submitted() store.Run {
	return store.Run{
		ID: "01JQ8Z6W9Y3T5K7M2N4P6R8S0V", Version: 1, Contract: fsm.ContractVersion,
		SpecDigest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Engine: "agent",
		Mode: fsm.ModeInteractive, Strict: true,
		SessionTimeout: 20 * time.Minute, MaxAttempts: 10, MaxAutoDecisions: 1, Pool: "default", Key: "tenant-17",
		CreatedAt: noon,
		State:     fsm.StateQueued, UpdatedAt: noon, QueuedAt: noon, Seq: 2, Recovery: store.RecoveryNone,
	}
}

func waiting() store.Run {
	r := submitted()
	r.Version, r.State, r.Attempt, r.Epoch, r.Seq, r.LocalSeq = 4, fsm.StateWaitingUser, 1, 1, 6, 3
	r.UpdatedAt, r.Deadline = noon.Add(time.Second), noon.Add(time.Hour)
	r.Owner, r.Profile = "node-0123456789abcdef", fsm.ProfileResumable
	r.Session = &interaction.SessionHandle{Engine: "agent", Version: "2",
		Data: []byte("session-0123456789abcdef0123456789abcdef")}
	r.Interactions = 1
	r.Open = []interaction.Question{{
		ID: 1, Attempt: 1, Kind: interaction.ChooseOne, Prompt: "The migration drops the column " +
			"\"legacy_id\".\nShall it go on?",
		Options:       []interaction.Option{{Label: "Yes, drop it", Value: "yes"}, {Label: "No, keep it", Value: "no"}},
		DefaultPolicy: interaction.SafeDefault, AskedAt: r.UpdatedAt,
	}}
	return r
}

func answered() store.Run {
	r := waiting()
	r.Version, r.State, r.Seq, r.LocalSeq = 5, fsm.StateQueued, 8, 5
	r.Open, r.Deadline, r.Owner, r.QueuedAt = nil, time.Time{}, "", noon.Add(time.Minute)
	r.Answers = []interaction.Answer{{ID: 1, Resolution: interaction.UserReply,
		Text: "Yes, drop it; the backup is there.", Actor: "ann", AcceptedAt: r.QueuedAt}}
	return r
}

func finished() store.Run {
	r := answered()
	r.Version, r.State, r.Attempt, r.Epoch, r.Seq, r.LocalSeq = 7, fsm.StateSucceeded, 2, 2, 12, 4
	r.Answers, r.Session, r.UpdatedAt = nil, nil, noon.Add(2*time.Minute)
	r.FinishedAt, r.FinalText = r.UpdatedAt, "The column \"legacy_id\" is gone.\nAll 1,204 rows were checked against "+
		"the backup first.\n"
	r.Output, r.Warnings = json.RawMessage(`{"column":"legacy_id","rows":1204,"ok":true}`),
		[]fsm.Warning{fsm.WarnInteractiveCompletedWithoutDoneMarker}
	return r
}

var roundTrip = []struct {
	name string
	run  func() store.Run
}{{"queued", submitted}, {"waiting", waiting}, {"answered", answered}, {"finished", finished}}

func BenchmarkEncode(b *testing.B) {
	for _, c := range roundTrip {
		b.Run(c.name, func(b *testing.B) {
			r := c.run()
			b.ReportAllocs()
			for b.Loop() {
				body, err := store.Encode(r)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range roundTrip {
		b.Run(c.name, func(b *testing.B) {
			body, err := store.Encode(c.run())
			require.NoError(b, err)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.Decode(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
