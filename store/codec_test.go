package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// parked is a record with a value in every field that may have one in waiting_user, and in some
// that may not.
func parked() store.Run {
	return store.Run{
		ID: "run-1", Version: 7, Contract: "1.0.0", SpecDigest: "d", Engine: "agent", Mode: fsm.ModeInteractive,
		Strict:         true,
		SessionTimeout: 20 * time.Minute, MaxAttempts: 5, MaxAutoDecisions: 2, Repeatable: true, Pool: "p", Key: "k",
		Priority:  -3,
		NotBefore: noon, Labels: map[string]string{"team": "blue"}, CreatedAt: noon, State: fsm.StateWaitingUser,
		UpdatedAt: noon,
		QueuedAt:  noon, Attempt: 2, Slot: true, Owner: "n", Epoch: 3, Seq: 9, LocalSeq: 4,
		Profile: fsm.ProfileStickyProcess,
		Session: &interaction.SessionHandle{Engine: "agent", Version: "2", Data: []byte{0, 1, 255}}, Interactions: 1,
		Open: []interaction.Question{{
			ID: 1, Attempt: 2, Kind: interaction.ChooseOne, Prompt: "Which?", Options: []interaction.Option{{Label: "A",
				Value: "a"}},
			RequiredFields: []string{"f"}, UIHints: map[string]any{"list": []any{"a", map[string]any{"b": 1.5}}},
			Context:       "c",
			DefaultPolicy: interaction.Abort, AskedAt: noon,
		}},
		Deadline: noon, AutoDecisions: 1, LastAutoDecisionAt: noon,
		Answers: []interaction.Answer{{ID: 1, Resolution: interaction.AutoDecideTimeout, Text: "t", AcceptedAt: noon,
			Auto: &interaction.AutoDecision{Source: "s"}}},
		Recovery: store.RecoveredWaiting, RecoveredAt: noon, RecoveryReason: "r", Output: json.RawMessage(`{"a":1}`),
		FinalText:    "f",
		Error:        &store.Failure{Code: fsm.CodeEngineFailed, Message: "m"},
		Warnings:     []fsm.Warning{fsm.WarnTurnRepeated},
		CancelReason: "c",
	}
}

func TestDecodeReturnsEncodedRecord(t *testing.T) {
	require.NoError(t, ptr(parked()).Validate())
	body, err := store.Encode(parked())
	require.NoError(t, err)
	require.NotContains(t, string(body), "\n")
	got, err := store.Decode(body)
	require.NoError(t, err)
	require.Equal(t, parked(), got)
}

func TestEncodeRefusesUnencodableRecord(t *testing.T) {
	r := parked()
	r.Open[0].UIHints = map[string]any{"f": func() {}}
	_, err := store.Encode(r)
	require.ErrorIs(t, err, store.ErrInvalid)
}

// I10: a damaged record is reported as ErrCorrupt.
func TestDecodeReportsCorruptRecord(t *testing.T) {
	body, err := store.Encode(parked())
	require.NoError(t, err)
	whole := string(body)
	for name, damaged := range map[string]string{
		"empty":                       "",
		"null":                        "null",
		"not an object":               "[]",
		"cut off":                     whole[:len(whole)/2],
		"something behind it":         whole + "{}",
		"no state":                    strings.Replace(whole, `"state":"waiting_user"`, `"state":""`, 1),
		"a state that is none":        strings.Replace(whole, `"state":"waiting_user"`, `"state":"paused"`, 1),
		"a state that does not agree": strings.Replace(whole, `"state":"waiting_user"`, `"state":"queued"`, 1),
		"a time that is none":         strings.Replace(whole, `"created_at":"2026`, `"created_at":"20x6`, 1),
		"a time in another zone":      strings.Replace(whole, `12:00:00.123456Z`, `12:00:00.123456+01:00`, 1),
		"a number of another kind":    strings.Replace(whole, `"version":7`, `"version":-7`, 1),
		"no version":                  strings.Replace(whole, `"version":7`, `"version":0`, 1),
	} {
		require.NotEqual(t, whole, damaged, name)
		_, err := store.Decode([]byte(damaged))
		require.ErrorIs(t, err, store.ErrCorrupt, name)
	}
}

func TestDecodeSkipsUnknownFields(t *testing.T) {
	body, err := store.Encode(parked())
	require.NoError(t, err)
	got, err := store.Decode([]byte(strings.Replace(string(body), "{", `{"of_tomorrow":[1],`, 1)))
	require.NoError(t, err)
	require.Equal(t, parked(), got)
}

// FuzzDecode: for any stored bytes, Decode gives a consistent record that keeps its stored form, or
// ErrCorrupt; and the scanner reads like encoding/json.
func FuzzDecode(f *testing.F) {
	for _, r := range []store.Run{parked(), submitted(), waiting(), answered(), finished()} {
		body, err := store.Encode(r)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Add([]byte(`{"id":"a","version":1}`))
	f.Add([]byte(`{"pending":{"ui_hints":{"a":[[[]]]}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		requireScanned(t, body)
		r, err := store.Decode(body)
		if err != nil {
			require.ErrorIs(t, err, store.ErrCorrupt)
			return
		}
		first, err := store.Encode(r)
		require.NoError(t, err)
		again, err := store.Decode(first)
		require.NoError(t, err)
		second, err := store.Encode(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}

func ptr[T any](v T) *T { return &v }
