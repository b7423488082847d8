package main

import (
	"fmt"
	"strings"
)

// fullOutcome is the result of a test with a full volume, or with a database that is locked.
type fullOutcome struct {
	Database string  // and its fault
	Refused  int     // refused calls, while it was so
	Crashed  bool    // the server stopped and had to be started again
	Unclear  []error // refusals that do not say that the store is full or down
}

// String formats the outcome for people.
func (o *fullOutcome) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %d calls refused, server started again: %t; nothing lost, no run failed\n",
		o.Database, o.Refused, o.Crashed)
	for _, e := range o.Unclear {
		fmt.Fprintf(&out, "WRONG: it does not say what is wrong: %v\n", e)
	}
	return out.String()
}
