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
	add := func(seq uint64, data fcmp.Payload) {
		body, err := fcmp.Encode(fcmp.Header{
			RunID: "run-1", Seq: seq, TS: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Engine: "demo", LocalSeq: seq,
		}, data)
		if err != nil {
			fmt.Println(err)
		}
		log.Write(append(body, '\n'))
	}
	add(1, &fcmp.Started{
		Mode: "auto", InteractiveRequireUserReply: true, SessionTimeoutSec: 1200, Pool: "default",
		ContractVersion: contract.Version(),
	})
	add(2, &fcmp.MessageIntermediate{Text: "hello"})

	report, err := audit.Check(&log)
	fmt.Println(report.First(), err)
	// Output:
	// line 2: run "run-1" violates IV-30: assistant.message.intermediate in state queued <nil>
}
