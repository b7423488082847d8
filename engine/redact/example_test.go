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
	_ = w.Close() // writes what is held back; here nothing is
	// Output: calling with [redacted] now
}
