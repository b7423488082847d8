// Modelserver runs package modeltest as a program: a scripted model on this machine. Its first line
// is its URL; it ends on an interrupt or TERM.
//
//	go run ./engine/modeltest/modelserver -addr 127.0.0.1:8099 -log requests.jsonl
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/interlude-go/interlude/engine/modeltest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:0", "address of loopback to listen on")
	log := flag.String("log", "", "file to which each request is appended as JSON lines")
	flag.Parse()
	if flag.NArg() > 0 {
		return errors.New("modelserver takes no arguments but -addr and -log")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := modeltest.New(modeltest.Config{Log: *log})
	if err := s.Listen(*addr); err != nil {
		return err
	}
	fmt.Println(s.URL)
	<-ctx.Done()
	return s.Close()
}
