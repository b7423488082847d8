package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/interlude-go/interlude/proof/checkout"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	word := ""
	if len(os.Args) > 1 {
		word = os.Args[1]
	}
	err := visit(ctx, word)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "museum:", err)
		os.Exit(1)
	}
}

// visit tries the bugs whose name contains the word and prints the messages of their checks.
func visit(ctx context.Context, word string) error {
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	bugs, err := readBugs(filepath.Join(root, "proof", "museum", "bugs"), word)
	if err != nil {
		return err
	}
	began := time.Now()
	findings, err := show(ctx, root, bugs)
	if err != nil {
		return err
	}
	missed, err := report(os.Stdout, findings)
	fmt.Printf("%d of %d bugs are seen, in %s\n", len(findings)-len(missed), len(findings),
		time.Since(began).Round(time.Second))
	return errors.Join(append(missed, err)...)
}

// report writes the table, and returns an error for each bug that its check did not detect.
func report(w io.Writer, findings []finding) (missed []error, _ error) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	rows := []string{"bug\tcheck\tit said\ttime"}
	for _, f := range findings {
		said := f.said
		if f.err != nil {
			said = "NOT SEEN"
			missed = append(missed, fmt.Errorf("%s: %w", f.bug.name, f.err))
		}
		check := strings.TrimPrefix(f.bug.check.String(), "go test ")
		rows = append(rows, strings.Join([]string{f.bug.name, check, shortened(said),
			f.took.Round(100 * time.Millisecond).String()}, "\t"))
	}
	if _, err := fmt.Fprintln(table, strings.Join(rows, "\n")); err != nil {
		return missed, err
	}
	return missed, table.Flush()
}

// shortened cuts a text to the width of the table.
func shortened(s string) string {
	if r := []rune(s); len(r) > 100 {
		return string(r[:99]) + "…"
	}
	return s
}
