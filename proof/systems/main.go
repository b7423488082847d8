// Systems checks that packages, with their tests, compile for other systems than this one, and that
// the analyzers of go vet find nothing in them there:
//
//	systems [-for darwin,windows,linux/386] [-tags TAGS] PACKAGE…
//
// It checks the types in the source. That takes a tenth of the time for compiling everything that
// these packages import, for each system, only to run none of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	systems := flag.String("for", "darwin,windows,linux/386", "the `systems`: GOOS, or GOOS/GOARCH")
	tags := flag.String("tags", "", "the build `tags`, separated by commas")
	flag.Parse()
	status := 0
	for system := range strings.SplitSeq(*systems, ",") {
		found, err := faults(context.Background(), ".", system, *tags, flag.Args()...)
		if err != nil {
			found = append(found, err.Error())
		}
		for _, fault := range found {
			fmt.Fprintf(os.Stderr, "systems: %s: %s\n", system, fault)
			status = 1
		}
	}
	os.Exit(status)
}
