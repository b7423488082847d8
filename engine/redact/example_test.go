package redact_test

import (
	"fmt"
	"os"

	"github.com/interlude-go/interlude/engine/redact"
)

// A secret is found although it is written in pieces.
func Example() {
	secrets, err := redact.New("sk-live-4242")
	if err != nil {
		fmt.Println(err)
		return
	}
	w := secrets.Writer(os.Stdout)
	fmt.Fprint(w, "calling with sk-live")
	fmt.Fprint(w, "-4242 now\n")
	_ = w.Close() // flushes held-back text; here there is none
	// Output: calling with [redacted] now
}
