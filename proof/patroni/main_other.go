//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "patroni: it needs Linux, as it finds the processes of a machine in /proc")
	os.Exit(1)
}
