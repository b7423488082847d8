package process_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/interlude-go/interlude/engine/process"
)

// agents are the runs' programs; most leave something behind.
var agents = []string{
	"true",
	"sleep 1000",
	"trap '' TERM; sleep 1000 & wait",
	"sleep 1000 & exit 0",
	"setsid sleep 1000 & exit 0",
	"setsid sh -c 'sh -c \"sleep 1000\" & exit 0' & sleep 0.01",
	"setsid sh -c 'setsid sh -c \"setsid sleep 1000 & exit 0\" & exit 0' & exit 1",
	"for i in 1 2 3 4 5; do setsid sleep 1000 & done; kill -9 $$",
}

// headless is a task whose first thread ends while others continue.
const headless = "headless"

func init() {
	host = serve
	if os.Getenv(hostEnv) == headless {
		runtime.LockOSThread() // pins main to the first thread
	}
}

// serve starts processes for the runs of "FOLDER HOME RUN…" one after the other, until it is
// killed.
func serve(task string) int {
	switch task {
	case headless:
		leaveFirstThread()
	case heavy:
		growHeavy()
		return 0
	}
	words := strings.Fields(task)
	if words[0] == contained {
		return holdContained(words[1], words[2])
	}
	table := process.NewTable(words[0])
	fmt.Println("ready")
	var all sync.WaitGroup
	for _, run := range words[2:] {
		all.Go(func() {
			for {
				if err := table.Reap(context.Background(), run); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				p, err := table.Start(process.Command{
					RunID: run, Path: "/bin/sh", Args: []string{"-c", `echo x > "$TMPDIR/x";` + agents[rand.N(len(agents))]},
					Dir: words[0], TempIn: words[1],
					Env: []string{"PATH=" + os.Getenv("PATH")}, Grace: grace / 10,
				})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				for range rand.N(1000) { // a random delay, not of the clock's
					runtime.Gosched()
				}
				if rand.N(2) == 0 {
					p.End()
				} else {
					go p.End() // concurrently with the next one
					<-p.Ended()
				}
				p.Release()
				fmt.Println(run) // one more
			}
		})
	}
	all.Wait()
	return 1
}
