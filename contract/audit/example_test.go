package audit_test

import (
	"bytes"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// A log in which the assistant speaks before its first turn.
func ExampleCheck() {
	var log bytes.Buffer
	add := func(seq uint64, typ string, data map[string]any) {
		body, err := fcmp.Encode(fcmp.Header{
			RunID: "run-1", Seq: seq, TS: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Engine: "demo", LocalSeq: seq,
		}, typ, data)
		if err != nil {
			fmt.Println(err)
		}
		log.Write(append(body, '\n'))
	}
	add(1, fcmp.TypeStarted, map[string]any{
		"mode": "auto", "interactive_require_user_reply": true, "session_timeout_sec": 1200, "max_auto_decisions": 0,
		"pool": "default", "contract_version": contract.Version(),
	})
	add(2, fcmp.TypeMessageIntermediate, map[string]any{"text": "hello"})

	report, err := audit.Check(&log)
	fmt.Println(report.First(), err)
	// Output:
	// line 2: run "run-1" violates IV-30: assistant.message.intermediate in state queued <nil>
}
