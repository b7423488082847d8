//go:build unix

package process_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/interlude-go/interlude/engine/process"
)

// A run's process and its descendants are controlled until its release.
func Example() {
	dir, err := os.MkdirTemp("", "records")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	table := process.NewTable(dir)
	if err := table.Reap(context.Background(), "run-1"); err != nil { // of a dead host
		fmt.Println(err)
		return
	}
	p, err := table.Start(process.Command{RunID: "run-1", Path: "/bin/sh", Args: []string{"-c",
		"sleep 1000 & echo hello"}, Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Release()
	defer p.End()
	said, err := io.ReadAll(p.Stdout)
	fmt.Printf("%s%v %v\n", said, err, p.Err())
	// Output:
	// hello
	// <nil> <nil>
}
