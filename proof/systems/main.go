// Systems checks that packages, with their tests, compile for other systems than this one, and that
// the analyzers of go vet find nothing in them there:
//
//	systems [-for darwin,windows,linux/386,linux/amd64+TAG+TAG] PACKAGE…
//
// It checks the types in the source. That takes a tenth of the time for compiling everything that
// these packages import, for each system, only to run none of it. A file in the user's cache directory
// lists the packages that passed. A package is checked again after a change of its files, its imports,
// this program or Go. The flag -all deletes the file.
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
	all := flag.Bool("all", false, "forget which packages passed before, and check all")
	flag.Parse()
	status, c := 0, check{dir: ".", patterns: flag.Args(), analyzed: map[string]bool{}}
	c.passed.file, c.program = remembered()
	if *all {
		_ = os.Remove(c.passed.file)
	}
	c.passed.load()
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
	if err := c.passed.save(); err != nil {
		fmt.Fprintln(os.Stderr, "systems: the next run checks everything again:", err)
	}
	fmt.Printf("systems: %d packages checked; the others passed before\n", c.checked)
	os.Exit(status)
}
