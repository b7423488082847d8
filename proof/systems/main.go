// Systems checks that packages, with their tests, compile for other systems than this one, and that
// the analyzers of go vet find nothing in them there:
//
//	systems [-for darwin,windows,linux/386,linux/amd64+TAG+TAG] PACKAGE…
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
	systems := flag.String("for", "darwin,windows,linux/386", "the `systems`: GOOS, or GOOS/GOARCH, with +TAG for each build tag")
	flag.Parse()
	status, c := 0, check{dir: ".", patterns: flag.Args(), analyzed: map[string]bool{}}
	for system := range strings.SplitSeq(*systems, ",") {
		found, err := c.faults(context.Background(), system)
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
